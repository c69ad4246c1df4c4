package client

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Position is a place in a stream: an offset, a time, or its end. The zero Position is left to whoever takes one.
type Position struct {
	sequence uint64
	time     time.Time
	end      bool
}

// Offset is the place of the message with the given offset, or of the first one after it.
func Offset(n int64) Position { return Position{sequence: uint64(max(n, 0)) + 1} }

// At is the place of the first message at or after t.
func At(t time.Time) Position { return Position{time: t} }

// End is the place after the last message.
func End() Position { return Position{end: true} }

// policy is where a consumer begins that begins at p.
func (p Position) policy() (policy jetstream.DeliverPolicy, sequence uint64, at *time.Time) {
	switch {
	case p.end:
		return jetstream.DeliverNewPolicy, 0, nil
	case p.sequence > 0:
		return jetstream.DeliverByStartSequencePolicy, p.sequence, nil
	case !p.time.IsZero():
		return jetstream.DeliverByStartTimePolicy, 0, &p.time
	}
	return jetstream.DeliverAllPolicy, 0, nil
}

// before says that a record comes before p.
func (p Position) before(r *Record) bool {
	if !p.time.IsZero() {
		return r.Time.Before(p.time)
	}
	return p.sequence == 0 || r.Sequence < p.sequence
}
