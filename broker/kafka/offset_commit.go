package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// OffsetCommit (8), versions 2 to 10; version 10 names topics by id. The answer waits until the offsets are on disk. The
// retention time of versions 2 to 4 is not looked at: offsets are kept as the broker is configured (KIP-211).

func (s *Server) offsetCommit(r *request) answer {
	req := r.body.(*kmsg.OffsetCommitRequest)
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	commit := &consumer.CommitRequest{
		Group:      req.Group,
		MemberID:   req.MemberID,
		InstanceID: text(req.InstanceID),
		Generation: req.Generation,

		MemberEpochs: req.Version >= 9,
	}
	find := finder{topics: s.topics, byID: req.Version >= 10}
	var results []*int16 // where the code of each offset of commit goes
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		name, err := find.name(t.Topic, t.TopicID)
		for i, p := range t.Partitions {
			rp := &rt.Partitions[i]
			rp.Partition = p.Partition
			if err != nil {
				rp.ErrorCode = codeOf(err)
				continue
			}
			results = append(results, &rp.ErrorCode)
			o := consumer.Offset{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: text(p.Metadata)}
			commit.Offsets = append(commit.Offsets, consumer.Committed{Topic: name, Partition: p.Partition, Offset: o})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	wait := s.groups.Commit(commit)
	return later(func(ctx context.Context) kmsg.Response {
		errs, err := wait(ctx)
		if errors.Is(err, consumer.ErrNotFound) && req.Version < 9 {
			err = consumer.ErrIllegalGeneration
		}
		for i, code := range results {
			if err != nil {
				*code = codeOf(err)
			} else {
				*code = codeOf(errs[i])
			}
		}
		return resp
	})
}
