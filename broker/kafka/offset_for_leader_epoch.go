package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// OffsetForLeaderEpoch (23), versions 2 to 4: where an epoch ended, by which consumers notice that data they have seen
// was cut off (KIP-320). The epoch grows only when a recovery cut something.

func (s *Server) offsetForLeaderEpoch(r *request) answer {
	req := r.body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	return later(func(context.Context) kmsg.Response {
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = t.Topic
			for _, q := range t.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition = q.Partition
				var err error
				rp.LeaderEpoch, rp.EndOffset, err = s.epochEnd(t.Topic, q)
				rp.ErrorCode = codeOf(err)
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

func (s *Server) epochEnd(name string, q kmsg.OffsetForLeaderEpochRequestTopicPartition) (int32, int64, error) {
	p, err := finder{topics: s.topics}.partition(name, topic.ID{}, q.Partition)
	if err != nil {
		return -1, -1, err
	}
	if err := checkEpoch(p, q.CurrentLeaderEpoch); err != nil {
		return -1, -1, err
	}
	epoch, end := p.EpochEnd(q.LeaderEpoch)
	return epoch, end, nil
}
