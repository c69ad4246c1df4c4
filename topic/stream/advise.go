package stream

import (
	"time"

	"github.com/nats-io/nuid"
)

// streamAction is the advisory that tells what was done to a stream.
type streamAction struct {
	Type   string    `json:"type"`
	ID     string    `json:"id"`
	Time   time.Time `json:"timestamp"`
	Stream string    `json:"stream"`
	Action string    `json:"action"`
}

// batchAbandoned is the advisory that tells of an atomic batch which will not be committed.
type batchAbandoned struct {
	Type   string    `json:"type"`
	ID     string    `json:"id"`
	Time   time.Time `json:"timestamp"`
	Stream string    `json:"stream"`
	Batch  string    `json:"batch"`
	Reason string    `json:"reason"`
}

// abandoned tells that an atomic batch was dropped; reason is the word for it in the advisory.
func (s *Stream) abandoned(batch, reason string) {
	if s.o.Advise == nil {
		return
	}
	s.o.Advise("STREAM.BATCH_ABANDONED", s.Name(), batchAbandoned{
		Type:   "io.nats.jetstream.advisory.v1.stream_batch_abandoned",
		ID:     nuid.Next(),
		Time:   time.Now().UTC(),
		Stream: s.Name(),
		Batch:  batch,
		Reason: reason,
	})
}

// advise tells that a stream was CREATED, UPDATED or DELETED; action is the word for it in the advisory.
func (s *Streams) advise(done, action, name string) {
	if s.o.Advise == nil {
		return
	}
	s.o.Advise("STREAM."+done, name, streamAction{
		Type:   "io.nats.jetstream.advisory.v1.stream_action",
		ID:     nuid.Next(),
		Time:   time.Now().UTC(),
		Stream: name,
		Action: action,
	})
}
