package stream

import (
	"context"
	"errors"
	"fmt"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
)

var errUsed = errors.New("something else was published into the stream meanwhile")

// Restore appends messages of a snapshot as they were, with their sequences and their times, and leaves out the sequences
// between them, and those behind them up to last. It is for a stream that nobody else publishes into yet. What it appended
// is durable, and readers see it, when it returns. Errors: *Error.
func (s *Stream) Restore(ctx context.Context, messages []message.Message, last uint64) error {
	var end int64
	err := s.with(func(t topic.Tail, c *contents) error {
		s.flush(t)
		defer func() { end = t.End() }()
		return s.restore(t, c.naming, messages, last)
	})
	if err == nil {
		err = s.part.WaitDurable(ctx, end-1)
	}
	if err != nil {
		return RestoreFailed(err)
	}
	s.wake()
	return s.with(func(topic.Tail, *contents) error { return nil }) // it settles
}

// restore appends messages while nothing else can be.
func (s *Stream) restore(t topic.Tail, naming message.Naming, messages []message.Message, last uint64) error {
	var batch log.Builder
	next := uint64(t.End()) + 1
	flush := func() error {
		if batch.Len() == 0 {
			return nil
		}
		b, err := batch.Build()
		if err == nil {
			_, err = t.Append(b)
		}
		return err
	}
	for _, m := range messages {
		if m.Sequence < next {
			return fmt.Errorf("message %d after %d: %w", m.Sequence, next-1, errUsed)
		}
		if m.Sequence > next || batch.Size() >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
			if err := s.skip(t, m.Sequence-1); err != nil {
				return err
			}
		}
		batch.Add(naming.Record(m))
		next = m.Sequence + 1
	}
	if err := flush(); err != nil {
		return err
	}
	return s.skip(t, last)
}
