package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// ConsumerGroupDescribe (69), versions 0 and 1 (KIP-848). A group that does not exist, and one of the classic type, is
// GROUP_ID_NOT_FOUND: clients then ask by DescribeGroups. A group that is named twice is described once.

// consumerMember is the type of a member that speaks KIP-848, in version 1.
const consumerMember = 1

func (s *Server) consumerGroupDescribe(r *request) answer {
	req := r.body.(*kmsg.ConsumerGroupDescribeRequest)
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	seen := map[string]bool{}
	for _, id := range req.Groups {
		if !seen[id] {
			seen[id] = true
			resp.Groups = append(resp.Groups, s.describeConsumerGroup(req, id))
		}
	}
	return ready(resp)
}

func (s *Server) describeConsumerGroup(req *kmsg.ConsumerGroupDescribeRequest, id string) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group = id
	if req.IncludeAuthorizedOperations {
		g.AuthorizedOperations = groupOperations
	}
	d, err := s.groups.DescribeConsumer(id)
	if err != nil {
		g.ErrorCode, g.ErrorMessage = codeOf(err), messageOf(err)
		return g
	}
	g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName = d.State.String(), d.Epoch, d.TargetEpoch, d.Assignor
	for _, m := range d.Members {
		rm := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		rm.MemberID, rm.InstanceID, rm.RackID = m.MemberID, nullable(m.InstanceID), nullable(m.RackID)
		rm.ClientID, rm.ClientHost = m.ClientID, m.Host
		rm.MemberEpoch, rm.MemberType = m.Epoch, consumerMember
		rm.SubscribedTopics, rm.SubscribedTopicRegex = m.Topics, nullable(m.Regex)
		rm.Assignment, rm.TargetAssignment = assignment(m.Assignment), assignment(m.Target)
		g.Members = append(g.Members, rm)
	}
	return g
}

func assignment(list []consumer.Assigned) kmsg.Assignment {
	var a kmsg.Assignment
	for _, t := range list {
		tp := kmsg.NewAssignmentTopicPartition()
		tp.TopicID, tp.Topic, tp.Partitions = t.Topic, t.Name, t.Partitions
		a.TopicPartitions = append(a.TopicPartitions, tp)
	}
	return a
}
