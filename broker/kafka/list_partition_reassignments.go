package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments (46), version 0: on one broker nothing ever moves. Kafka's topic tool asks in every
// `--describe`.

func (s *Server) listPartitionReassignments(r *request) answer {
	return ready(r.body.(*kmsg.ListPartitionReassignmentsRequest).ResponseKind())
}
