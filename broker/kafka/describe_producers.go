package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DescribeProducers (61), version 0 (KIP-664): the idempotent producers of partitions. None of them has a transaction.

func (s *Server) describeProducers(r *request) answer {
	req := r.body.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	seen := make(map[partKey]bool)
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		for _, n := range t.Partitions {
			key := partKey{topicKey{name: t.Topic}, n}
			if seen[key] {
				continue // an answer is much larger than a repeated number
			}
			seen[key] = true
			rt.Partitions = append(rt.Partitions, s.producersOf(t.Topic, n))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

func (s *Server) producersOf(name string, n int32) kmsg.DescribeProducersResponseTopicPartition {
	rp := kmsg.NewDescribeProducersResponseTopicPartition()
	rp.Partition = n
	p, err := finder{topics: s.topics}.partition(name, topic.ID{}, n)
	if err != nil {
		rp.ErrorCode, rp.ErrorMessage = codeOf(err), messageOf(err)
		return rp
	}
	for _, known := range p.Producers() {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch = known.ID, int32(known.Epoch)
		a.LastSequence, a.LastTimestamp = known.LastSequence, known.LastTime.UnixMilli()
		a.CoordinatorEpoch, a.CurrentTxnStartOffset = -1, -1
		rp.ActiveProducers = append(rp.ActiveProducers, a)
	}
	return rp
}
