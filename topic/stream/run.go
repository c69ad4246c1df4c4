package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brokerd/log"
	"brokerd/topic"
)

const (
	trimEach  = time.Second     // the log's start follows the oldest message so often
	lastWords = 5 * time.Second // for what is on its way when the broker stops
	retryLoad = 5 * time.Second
)

// run writes what is published, acknowledges it, and removes what limits and times tell to, until ctx is done or the
// stream is deleted. It is called once.
func (s *Stream) run(ctx context.Context) error {
	defer s.refuse()
	if s.part == nil {
		return nil
	}
	defer s.part.Watch(s.work)()
	var trimming sync.WaitGroup
	defer trimming.Wait()
	trim, stop := context.WithCancel(ctx)
	defer stop()
	trimming.Go(func() { s.trim(trim) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	late, cancel := grace(ctx)
	defer cancel()
	said := ""
	for {
		next := s.round(late, &said)
		if s.gone.Load() {
			return nil
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
			s.deliver(late)
			_ = s.settleRemovals() // limits do it again at the next start
			return nil
		case <-timer.C:
		case <-s.work:
		}
	}
}

// grace returns a context that is done lastWords after ctx: what was written before may still become durable.
func grace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })
	return late, func() {
		stop()
		cancel()
	}
}

// refuse answers what still waits when nothing is written any more, and gives up what is not committed.
func (s *Stream) refuse() {
	s.open.give(s.open.number.Load(), s.open.bytes.Load())
	for _, one := range s.acks.close() {
		if one.done != nil {
			one.done(Receipt{}, StoreFailed(errStopped))
		}
	}
}

// round does everything that is to be done now, and returns how long there will be nothing, if nobody calls. said is the last
// complaint.
func (s *Stream) round(ctx context.Context, said *string) time.Duration {
	if s.kafka() && !s.loaded.Load() {
		return time.Hour // the index is made when somebody asks
	}
	if err := s.load(); err != nil {
		if !s.gone.Load() && !over(err) && err.Error() != *said {
			*said = err.Error()
			s.o.Logger.Error().Str("stream", s.Name()).Err(err).
				Msg("the stream cannot be used: its log cannot be read; messages stay as they are, and it is tried again")
		}
		return retryLoad
	}
	s.deliver(ctx)
	next := min(s.expire(), s.fire())
	s.sweep()
	if _, behind := s.behind(); behind {
		select {
		case s.front <- struct{}{}:
		default:
		}
	}
	return next
}

// deliver writes what is collected as one batch, waits until it is durable, shows it to readers, and tells the publishers.
func (s *Stream) deliver(ctx context.Context) {
	var list []ack
	var needs uint64
	err := s.with(func(t topic.Tail, _ *contents) error {
		s.flush(t)
		list, needs = s.acks.take()
		return nil
	})
	if err != nil {
		list, needs = s.acks.take()
	}
	if len(list) == 0 {
		return
	}
	if err == nil && needs > 0 {
		err = s.part.WaitDurable(ctx, int64(needs)-1)
	}
	_ = s.with(func(topic.Tail, *contents) error { return nil }) // it settles
	s.sweep()
	durable := s.durable()
	for i := range list {
		one := &list[i]
		if one.err == nil && one.needs > durable {
			one.err = StoreFailed(fmt.Errorf("write: %w", errOr(err, errStopped)))
		}
		if one.err == nil && one.republish != nil {
			one.republish()
		}
		if one.done == nil {
			continue
		}
		if one.err != nil {
			one.receipt = Receipt{}
		}
		one.done(one.receipt, one.err)
	}
	s.acks.answered(list)
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// durable is the last sequence that is durable; 0 when there is no telling.
func (s *Stream) durable() uint64 {
	b, err := s.part.Bounds()
	if err != nil {
		return 0
	}
	return uint64(b.Durable)
}

// sweep tells the log which messages are gone. Those before the oldest one are trimmed, all at once, a little later.
func (s *Stream) sweep() {
	var list []int64
	_ = s.with(func(_ topic.Tail, c *contents) error {
		if len(c.gone) == 0 {
			return nil
		}
		first, _, _ := c.index.first()
		for _, offset := range c.gone {
			if s.kafka() || first != 0 && offset >= int64(first) {
				list = append(list, offset)
			}
		}
		c.gone = nil
		return nil
	})
	if len(list) == 0 {
		return
	}
	if err := s.part.Erase(list, false); err != nil && !over(err) {
		s.o.Logger.Error().Str("stream", s.Name()).Int("messages", len(list)).Err(err).
			Msg("messages that are gone from a stream could not be erased from its log: Kafka clients still see them, and they are back after a restart unless a limit removes them again")
	}
	s.watchers.tell()
}

// over says that an error is the end of the partition, and not worth a word.
func over(err error) bool { return errors.Is(err, topic.ErrNotFound) || errors.Is(err, log.ErrClosed) }

// trim moves the start of the log up to the oldest message whenever it is told to, not more often than each trimEach. It
// waits for the disk, and so does not do that in the loop which answers publishers.
func (s *Stream) trim(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.front:
		}
		pause.Reset(trimEach)
		start, behind := s.behind()
		if !behind {
			continue
		}
		err := s.part.Discard(start)
		if err != nil && !over(err) && !said {
			s.o.Logger.Error().Str("stream", s.Name()).Err(err).
				Msg("the log of a stream could not be trimmed: what limits removed takes its space still; it is tried again")
		}
		said = err != nil
	}
}

// behind says that the log begins before the oldest message, which is at offset start.
func (s *Stream) behind() (start int64, behind bool) {
	err := s.with(func(_ topic.Tail, c *contents) error {
		if first, _, _ := c.index.first(); first != 0 {
			start = int64(first) - 1
		} else {
			start = int64(c.last)
		}
		return nil
	})
	b, failed := s.part.Bounds()
	return start, err == nil && failed == nil && !s.kafka() && start > b.Start
}

// settleRemovals makes durable what limits have removed so far: it must not come back after a crash because something newer
// is removed.
func (s *Stream) settleRemovals() error {
	s.sweep()
	if start, behind := s.behind(); behind {
		return s.part.Discard(start)
	}
	return nil
}
