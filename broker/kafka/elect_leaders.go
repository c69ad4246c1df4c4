package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// ElectLeaders (43), versions 0 to 2: the only broker leads everything already, so that no election is ever needed. As
// in Kafka, a null list means all partitions, and those that need no election are left out of its answer.

// Kinds of elections (KIP-460).
const (
	electPreferred = 0
	electUnclean   = 1
)

func (s *Server) electLeaders(r *request) answer {
	req := r.body.(*kmsg.ElectLeadersRequest)
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if req.ElectionType != electPreferred && req.ElectionType != electUnclean {
		resp.ErrorCode = codeInvalidRequest
		return ready(resp)
	}
	for _, t := range req.Topics {
		rt := kmsg.NewElectLeadersResponseTopic()
		rt.Topic = t.Topic
		for _, n := range t.Partitions {
			_, err := finder{topics: s.topics}.partition(t.Topic, topic.ID{}, n)
			if err == nil {
				err = faultf(codeElectionNotNeeded, "broker %d leads the partition already", s.o.NodeID)
			}
			rp := kmsg.NewElectLeadersResponseTopicPartition()
			rp.Partition = n
			rp.ErrorCode, rp.ErrorMessage = codeOf(err), messageOf(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}
