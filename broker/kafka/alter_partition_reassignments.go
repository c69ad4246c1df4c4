package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// AlterPartitionReassignments (45), versions 0 and 1: on one broker a partition can be told to stay where it is, which
// succeeds at once. There is never a reassignment that could be cancelled.

func (s *Server) alterPartitionReassignments(r *request) answer {
	req := r.body.(*kmsg.AlterPartitionAssignmentsRequest)
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		rt.Topic = t.Topic
		for _, q := range t.Partitions {
			err := s.reassign(t.Topic, q)
			rp := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			rp.Partition = q.Partition
			rp.ErrorCode, rp.ErrorMessage = codeOf(err), messageOf(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

// reassign checks where a partition is to go; null cancels.
func (s *Server) reassign(name string, q kmsg.AlterPartitionAssignmentsRequestTopicPartition) error {
	if _, err := (finder{topics: s.topics}).partition(name, topic.ID{}, q.Partition); err != nil {
		return err
	}
	if q.Replicas == nil {
		return faultf(codeNoReassignmentInProgress, "partition %d of %s is not being reassigned", q.Partition, name)
	}
	return s.checkReplicas(q.Replicas)
}
