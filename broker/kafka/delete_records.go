package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DeleteRecords (21), versions 0 to 2: moves the start of a partition up to an offset, or with -1 up to the high
// watermark. It is durable when it is answered. A topic that is only compacted keeps its records.

func (s *Server) deleteRecords(r *request) answer {
	req := r.body.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		for _, q := range t.Partitions {
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = q.Partition
			start, err := s.trim(t.Topic, q)
			if rp.LowWatermark = start; err != nil {
				rp.LowWatermark, rp.ErrorCode = -1, codeOf(err)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

func (s *Server) trim(name string, q kmsg.DeleteRecordsRequestTopicPartition) (int64, error) {
	p, err := finder{topics: s.topics}.partition(name, topic.ID{}, q.Partition)
	if err != nil {
		return 0, err
	}
	if q.Offset < -1 {
		return 0, faultf(codeOffsetOutOfRange, "offset is %d", q.Offset)
	}
	return p.Trim(q.Offset)
}
