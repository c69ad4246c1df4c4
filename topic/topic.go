package topic

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Topic is one topic. It stays valid, but refuses everything, after it was deleted.
type Topic struct {
	id      ID
	name    string
	created time.Time
	memory  bool
	broker  overrides // the broker's defaults
	stats   Stats
	state   atomic.Pointer[state]
}

// state is what changes in the life of a topic. It is never changed itself, only replaced, by the Registry, one change
// at a time.
type state struct {
	settings   overrides
	config     Config
	stream     []byte // Spec.Stream
	partitions []*Partition
}

// Stats are counters, safe for concurrent use.
type Stats struct {
	RecordsIn, BytesIn, RecordsOut, BytesOut atomic.Int64
}

// Name is the topic's name.
func (t *Topic) Name() string { return t.name }

// ID is the topic's identity.
func (t *Topic) ID() ID { return t.id }

// Created is when the topic was made.
func (t *Topic) Created() time.Time { return t.created }

// Stats are the topic's counters since the process started, for the metrics. Append counts what comes in; the front ends
// count what they send.
func (t *Topic) Stats() *Stats { return &t.stats }

// Stream is what topic/stream keeps with the topic; nil for a topic made through Kafka. The caller does not change it.
func (t *Topic) Stream() []byte { return t.state.Load().stream }

// Memory says that the log is kept in memory.
func (t *Topic) Memory() bool { return t.memory }

// Partitions returns all partitions, in order. The caller does not change the slice.
func (t *Topic) Partitions() []*Partition { return t.state.Load().partitions }

// Partition returns one partition. ErrNoPartition.
func (t *Topic) Partition(n int32) (*Partition, error) {
	all := t.Partitions()
	if n < 0 || int(n) >= len(all) {
		return nil, fmt.Errorf("%w: %s has %d, not number %d", ErrNoPartition, t.name, len(all), n)
	}
	return all[n], nil
}

// Config returns the effective settings.
func (t *Topic) Config() Config { return t.state.Load().config }

// Settings lists every setting with its effective value, ordered by name.
func (t *Topic) Settings() []Setting { return t.levels().describe() }

// levels are where the topic's settings come from.
func (t *Topic) levels() levels {
	return levels{topic: t.state.Load().settings, broker: t.broker}
}

// record is what is stored of the topic in the given state.
func (t *Topic) record(s *state) record {
	return record{
		Name: t.name, Partitions: int32(len(s.partitions)), Settings: s.settings, Created: t.created, Stream: s.stream,
	}
}

// pretend gives a topic that is not made partitions that refuse everything.
func (t *Topic) pretend(partitions int32) {
	s := *t.state.Load()
	for n := range partitions {
		p := newPartition(t, n)
		p.deleted.Store(true)
		s.partitions = append(s.partitions, p)
	}
	t.state.Store(&s)
}
