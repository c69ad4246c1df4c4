package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/topic"
)

// ListOffsets (2), versions 1 to 11. A time is answered with the exact record, not its batch; both isolation levels are
// kept in every kind of lookup. There are no tiers: the earliest local offset is the start of the log, nothing is tiered,
// and nothing waits to be.

// Special values of the time asked for.
const (
	askLatest         = -1
	askEarliest       = -2
	askMaxTime        = -3 // version 7 (KIP-734)
	askEarliestLocal  = -4 // version 8 (KIP-405)
	askLatestTiered   = -5 // version 9 (KIP-1005)
	askEarliestToTier = -6 // version 11 (KIP-1023)
)

func (s *Server) listOffsets(r *request) answer {
	req := r.body.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	isolation := topic.ReadUncommitted
	if req.IsolationLevel == 1 {
		isolation = topic.ReadCommitted
	}
	return later(func(context.Context) kmsg.Response {
		for _, t := range req.Topics {
			rt := kmsg.NewListOffsetsResponseTopic()
			rt.Topic = t.Topic
			for _, q := range t.Partitions {
				found, err := s.listOffset(req.Version, t.Topic, q, isolation)
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition = q.Partition
				rp.ErrorCode = codeOf(err)
				if err == nil {
					rp.Timestamp, rp.Offset, rp.LeaderEpoch = found.Timestamp, found.Offset, found.Epoch
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

func (s *Server) listOffset(
	version int16, name string, q kmsg.ListOffsetsRequestTopicPartition, isolation topic.Isolation,
) (log.TimeOffset, error) {
	none := log.TimeOffset{Offset: -1, Timestamp: -1, Epoch: -1}
	if since, ok := specialSince(q.Timestamp); !ok || version < since {
		return none, faultf(codeUnsupportedVersion, "version %d has no special time %d", version, q.Timestamp)
	}
	p, err := finder{topics: s.topics}.partition(name, topic.ID{}, q.Partition)
	if err != nil {
		return none, err
	}
	if err := checkEpoch(p, q.CurrentLeaderEpoch); err != nil {
		return none, err
	}
	var found log.TimeOffset
	ok := true
	switch q.Timestamp {
	case askLatest, askEarliest, askEarliestLocal:
		return boundary(p, q.Timestamp, isolation)
	case askLatestTiered, askEarliestToTier:
		return none, nil
	case askMaxTime:
		found, ok, err = p.MaxTimestamp(isolation)
	default:
		found, ok, err = p.OffsetForTime(q.Timestamp, isolation)
	}
	if err != nil || !ok {
		return none, err
	}
	return found, nil
}

// specialSince returns the first version that knows a time, and false for a negative one that none knows.
func specialSince(time int64) (version int16, ok bool) {
	switch time {
	case askMaxTime:
		return 7, true
	case askEarliestLocal:
		return 8, true
	case askLatestTiered:
		return 9, true
	case askEarliestToTier:
		return 11, true
	}
	return 0, time >= askEarliest
}

// boundary answers with an end of the log.
func boundary(p *topic.Partition, ask int64, isolation topic.Isolation) (log.TimeOffset, error) {
	b, err := p.Bounds()
	found := log.TimeOffset{Timestamp: -1, Epoch: p.Epoch()}
	switch {
	case ask != askLatest:
		found.Offset = b.Start
		found.Epoch = -1 // that of the first record is not known here, and may be older
	case isolation == topic.ReadCommitted:
		found.Offset = b.Stable
	default:
		found.Offset = b.Durable
	}
	return found, err
}
