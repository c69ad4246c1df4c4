package stream

import (
	"bytes"
	"fmt"
	"time"

	"brokerd/log"
	"brokerd/topic"
)

// unpackLimit is the most bytes that the records of one batch may unpack to; those of larger ones cannot be read as messages.
const unpackLimit = 64 << 20

// follower keeps a stream's contents in step with the partition. Its methods are called with the partition's lock held.
type follower struct {
	s *Stream
	// behind has what happened while the index is still being made; nil when it is complete.
	behind []func()
	ready  bool
	own    bool // the batch that is being appended is the stream's own: it is in the tail already
}

// Admit writes what is published and waiting before a batch of a Kafka producer, and holds that batch to the configuration.
func (f *follower) Admit(t topic.Tail, b log.Batch) error {
	s := f.s
	if !f.ready || s.gone.Load() {
		return nil
	}
	conf := s.config.Load()
	if err := s.admissible(conf, b); err != nil {
		return fmt.Errorf("%w: %s: %w", topic.ErrRefused, conf.Name, err)
	}
	s.flush(t)
	s.wake()
	return nil
}

// Appended takes the records of a batch into the tail.
func (f *follower) Appended(b log.Batch) {
	switch {
	case f.own:
	case f.ready:
		f.s.take(b, 0, true)
		f.s.wake()
	default:
		b = bytes.Clone(b)
		f.behind = append(f.behind, func() { f.s.take(b, 0, true) })
	}
}

// Trimmed forgets what is gone.
func (f *follower) Trimmed(start int64) {
	if !f.ready {
		f.behind = append(f.behind, func() { f.s.contents.trimmed(start) })
		return
	}
	f.s.contents.trimmed(start)
}

// Removed forgets a record that compaction took away.
func (f *follower) Removed(offset int64) {
	gone := func() {
		c := f.s.contents
		if e, _, ok := c.index.get(uint64(offset) + 1); ok {
			c.forget(uint64(offset)+1, e)
		}
	}
	if !f.ready {
		f.behind = append(f.behind, gone)
		return
	}
	gone()
}

// take reads the records of a batch, from an offset on, into the tail. Those of a batch that cannot be read are left out, as
// the readers of messages will find it. fresh says that it was appended just now, so that it counts who wants it.
func (s *Stream) take(b log.Batch, from int64, fresh bool) {
	if b.Control() {
		return
	}
	c, l, now := s.contents, s.limits(), time.Now().UnixMilli()
	err := b.Each(unpackLimit, func(r log.Record) bool {
		if r.Offset < from {
			return true
		}
		name := c.naming.Subject(r)
		m := c.measure(name, r, l)
		m.entry.subject = c.index.subjects.intern(name)
		m.skip = fresh && !s.wants(name)
		c.push(m)
		// Times that are still to come, which only clients of Kafka write, do not make later messages as late.
		if r.Timestamp <= now || !s.kafka() {
			c.clock = max(c.clock, r.Timestamp)
		}
		return true
	})
	if err != nil {
		s.o.Logger.Warn().Str("stream", s.Name()).Int64("offset", b.BaseOffset()).Err(err).
			Msg("records of a batch cannot be read as messages; Kafka clients get them as they are")
	}
}

// admissible says whether a batch of a Kafka producer may be stored.
func (s *Stream) admissible(conf *Config, b log.Batch) error {
	if s.kafka() {
		return nil
	}
	c, l := s.contents, s.limits()
	switch {
	case conf.Sealed:
		return ErrSealed
	case conf.Mirror != nil:
		return errMirrored
	case conf.AllowCounter:
		return ErrCounterIncrementMissing
	case conf.Discard == DiscardNew && l.messages > 0 && c.index.messages+c.tail.messages+uint64(b.Count()) > l.messages:
		return errMaxMessages
	case conf.Discard == DiscardNew && l.bytes > 0 && c.index.bytes+c.tail.bytes+uint64(b.Size()) > l.bytes:
		return errMaxBytes
	case conf.MaxMsgSize <= 0:
		return nil
	}
	var refused error
	err := b.Each(unpackLimit, func(r log.Record) bool {
		size := len(r.Value)
		for _, h := range r.Headers {
			size += len(h.Key) + len(h.Value)
		}
		if size > int(conf.MaxMsgSize) {
			refused = ErrMessageTooLarge
		}
		return refused == nil
	})
	if refused != nil {
		return refused
	}
	return err
}
