package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// DescribeGroups (15), versions 0 to 6. A group that does not exist, or is not of the classic type, is Dead, without an error; from version 6 on it is
// GROUP_ID_NOT_FOUND (KIP-1043). A group that is named twice is described once.

func (s *Server) describeGroups(r *request) answer {
	req := r.body.(*kmsg.DescribeGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	seen := map[string]bool{}
	for _, id := range req.Groups {
		if !seen[id] {
			seen[id] = true
			resp.Groups = append(resp.Groups, s.describeGroup(req, id))
		}
	}
	return ready(resp)
}

func (s *Server) describeGroup(req *kmsg.DescribeGroupsRequest, id string) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group = id
	if req.IncludeAuthorizedOperations {
		g.AuthorizedOperations = groupOperations
	}
	d, err := s.groups.Describe(id)
	if err != nil {
		g.State = consumer.Dead.String()
		if req.Version >= 6 {
			g.ErrorCode, g.ErrorMessage = codeOf(err), messageOf(err)
		}
		return g
	}
	g.State, g.ProtocolType, g.Protocol = d.State.String(), d.ProtocolType, d.Protocol
	for _, m := range d.Members {
		rm := kmsg.NewDescribeGroupsResponseGroupMember()
		rm.MemberID, rm.InstanceID = m.MemberID, nullable(m.InstanceID)
		rm.ClientID, rm.ClientHost = m.ClientID, m.Host
		rm.ProtocolMetadata, rm.MemberAssignment = m.Subscription, m.Assignment
		g.Members = append(g.Members, rm)
	}
	return g
}
