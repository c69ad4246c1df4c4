package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// session is what the broker remembers of one fetch session (KIP-227): the partitions that the client reads, so that its
// requests name only what changed, and what it was told of them, so that answers name only what is new. A fetch without
// a session is one that nobody keeps. It is plain data, for one user at a time.
type session struct {
	byID   bool           // topics are named by id, as from version 13 on
	parts  []*sessionPart // in the order in which they are read
	lookup map[partKey]*sessionPart
	weight int // of all partitions, see partKey.weight
}

// partKey is a partition as requests name it.
type partKey struct {
	topicKey
	index int32
}

// weight is what remembering the partition costs, in units of some 256 bytes.
func (k partKey) weight() int { return 1 + len(k.name)/256 }

// sessionPart is one partition: what the client asks for, and what it was told last.
type sessionPart struct {
	partKey
	epoch            int32 // leader epoch that the client believes in, -1 for none
	offset, maxBytes int64
	high, start      int64 // high watermark and log start; -1: never told, or an error was
}

// finding is what a fetch found in one partition.
type finding struct {
	high, start     int64
	records, failed bool
}

func newSession(byID bool) *session {
	return &session{byID: byID, lookup: make(map[partKey]*sessionPart)}
}

// update takes over what a request adds, changes and forgets. New partitions are read last.
func (s *session) update(req *kmsg.FetchRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			q := &t.Partitions[j]
			part := s.put(s.key(t.Topic, t.TopicID, q.Partition))
			part.epoch, part.offset, part.maxBytes = q.CurrentLeaderEpoch, q.FetchOffset, int64(q.PartitionMaxBytes)
		}
	}
	if len(req.ForgottenTopics) == 0 {
		return
	}
	for _, t := range req.ForgottenTopics {
		for _, index := range t.Partitions {
			key := s.key(t.Topic, t.TopicID, index)
			if _, ok := s.lookup[key]; ok {
				delete(s.lookup, key)
				s.weight -= key.weight()
			}
		}
	}
	s.parts = slices.DeleteFunc(s.parts, func(part *sessionPart) bool { return s.lookup[part.partKey] != part })
}

// key keeps only that name of a topic which this session uses.
func (s *session) key(name string, id [16]byte, index int32) partKey {
	if s.byID {
		return partKey{topicKey{id: id}, index}
	}
	return partKey{topicKey{name: name}, index}
}

// put finds a partition, or adds it.
func (s *session) put(key partKey) *sessionPart {
	if part, ok := s.lookup[key]; ok {
		return part
	}
	part := &sessionPart{partKey: key, high: -1, start: -1}
	s.parts = append(s.parts, part)
	s.lookup[key] = part
	s.weight += key.weight()
	return part
}

// settle takes what a fetch found in the partitions, in their order, and returns of which the client must hear: those
// with records, an error, or a watermark that it does not know. It moves those that gave records to the end, so that
// under small limits each has its turn.
func (s *session) settle(found []finding) (tell []bool) {
	tell = make([]bool, len(s.parts))
	var gave, rest []*sessionPart
	for i, part := range s.parts {
		tell[i] = part.tell(found[i])
		if found[i].records {
			gave = append(gave, part)
		} else {
			rest = append(rest, part)
		}
	}
	s.parts = append(rest, gave...)
	return tell
}

// tell says whether the client must hear of what was found, and remembers it as told. After an error nothing counts as
// told, so that the partition is heard of again when the error is over.
func (p *sessionPart) tell(f finding) bool {
	if f.failed {
		p.high, p.start = -1, -1
		return true
	}
	fresh := f.records || f.high != p.high || f.start != p.start
	p.high, p.start = f.high, f.start
	return fresh
}
