package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// OffsetDelete (47), version 0. Offsets of topics to which a member is subscribed stay.

func (s *Server) offsetDelete(r *request) answer {
	req := r.body.(*kmsg.OffsetDeleteRequest)
	var places []consumer.TopicPartition
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			places = append(places, consumer.TopicPartition{Topic: t.Topic, Partition: p.Partition})
		}
	}
	wait := s.groups.DeleteOffsets(req.Group, places)
	return later(func(ctx context.Context) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
		errs, err := wait(ctx)
		if err != nil {
			resp.ErrorCode = codeOf(err)
			return resp
		}
		next := 0
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetDeleteResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetDeleteResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, codeOf(errs[next])
				next++
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}
