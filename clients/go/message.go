package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Record is a stored message.
type Record struct {
	Subject  string
	Header   nats.Header
	Data     []byte
	Stream   string
	Sequence uint64
	Time     time.Time
}

// Offset is the record's offset in the topic that the stream is.
func (r *Record) Offset() int64 { return int64(r.Sequence) - 1 }

func recordOf(m jetstream.Msg) (Record, *jetstream.MsgMetadata, error) {
	about, err := m.Metadata()
	if err != nil {
		return Record{}, nil, fmt.Errorf("client: read what comes with a message: %w", err)
	}
	return Record{m.Subject(), m.Headers(), m.Data(), about.Stream, about.Sequence.Stream, about.Timestamp}, about, nil
}

// Message is a record that a group was given, and that it must settle: with Ack, AckUpTo, Retry or Discard.
type Message struct {
	Record
	Attempt int    // 1 for the first time that it is given to a member
	Behind  uint64 // messages after this one that the group was not given yet

	group *Group
	raw   jetstream.Msg
}

// Ack acknowledges the message. It returns when the broker has stored that.
func (m *Message) Ack(ctx context.Context) error {
	return m.group.settle(m, func() error { return m.raw.DoubleAck(ctx) })
}

// AckUpTo acknowledges the message and every one that this member was given before it and has not settled, with one wait
// for all. What other members were given is not touched.
func (m *Message) AckUpTo(ctx context.Context) error {
	return m.group.settle(m, func() error {
		for _, earlier := range m.group.before(m) {
			if err := m.group.settle(earlier, earlier.raw.Ack); err != nil {
				return err
			}
		}
		return m.raw.DoubleAck(ctx)
	})
}

// Retry gives the message back. The group is given it again, not before delay has passed.
func (m *Message) Retry(delay time.Duration) error {
	return m.group.settle(m, func() error { return m.raw.NakWithDelay(delay) })
}

// Discard settles the message for good without success; the reason goes into the broker's advisory.
func (m *Message) Discard(reason string) error {
	return m.group.settle(m, func() error { return m.raw.TermWithReason(reason) })
}

// Working asks for another GroupConfig.AckWait before the message is given to somebody else.
func (m *Message) Working() error { return m.raw.InProgress() }
