package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"brokerd/log"
	"brokerd/topic"
)

const (
	scanBytes   = 1 << 20
	longLoad    = 64 << 20 // bytes of log, from which on the making of an index is worth a line
	settleEvery = 1 << 16  // messages
)

// load makes the index, unless it is made already. Errors: the partition's.
func (s *Stream) load() error {
	if s.loaded.Load() {
		return nil
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.loaded.Load() {
		return nil
	}
	began := time.Now()
	size := s.part.Size()
	if size >= longLoad {
		s.o.Logger.Info().Str("stream", s.Name()).Int64("bytes", size).
			Msg("making the index of a stream from its log; the stream can be used when that is done")
	}
	if err := s.build(); err != nil {
		return fmt.Errorf("make the index of stream %s: %w", s.Name(), err)
	}
	if size >= longLoad {
		s.o.Logger.Info().Str("stream", s.Name()).Dur("took", time.Since(began)).Msg("made the index of a stream")
	}
	return nil
}

// build reads the log, begins to follow the partition, and reads what was appended meanwhile.
func (s *Stream) build() error {
	s.contents = newContents(s.naming(), s.config.Load().Storage)
	s.contents.batches.room = &s.open
	offset, err := s.scan(0)
	if err != nil {
		return err
	}
	f := &follower{s: s}
	end := offset
	if err := s.part.Follow(f, func(t topic.Tail) { end = t.End() }); err != nil {
		return err
	}
	if err := s.catchUp(offset, end); err != nil {
		_ = s.part.Follow(nil, func(topic.Tail) {}) // what it would have queued is read the next time
		return err
	}
	start := int64(0)
	if bounds, err := s.part.Bounds(); err == nil {
		start = bounds.Start
	}
	return s.part.Exclusive(func(topic.Tail) error {
		s.contents.trimmed(start)
		s.follower = f
		f.ready = true
		for _, event := range f.behind {
			event()
		}
		f.behind = nil
		s.loaded.Store(true)
		s.settle()
		s.contents.apply(s.limits())
		s.wake()
		return nil
	})
}

// catchUp reads what was appended from offset to end before the stream began to follow, once it is durable.
func (s *Stream) catchUp(offset, end int64) error {
	if offset >= end {
		return nil
	}
	err := s.part.WaitDurable(context.Background(), end-1)
	if err != nil && !errors.Is(err, log.ErrFailed) {
		return err
	}
	_, err = s.scan(offset)
	return err
}

// scan reads everything durable from offset on into the contents, and returns where it ended. Nobody else uses them yet.
func (s *Stream) scan(offset int64) (int64, error) {
	var buf []byte
	for {
		r, err := s.part.Read(offset, scanBytes, topic.ReadCommitted)
		var outside *log.RangeError
		var damage *log.CorruptError
		switch {
		case errors.As(err, &outside) && offset < outside.Start:
			offset = outside.Start
			s.contents.trimmed(offset)
			continue
		case errors.As(err, &damage) && damage.Last >= offset:
			offset = damage.Last + 1
			continue
		case err != nil:
			return offset, err
		case r.Length == 0:
			r.Close()
			s.contents.settle(s.limits(), r.Next)
			return r.Next, nil
		}
		buf, err = r.ReadAll(buf)
		r.Close()
		if err != nil {
			return offset, err
		}
		if err := s.scanned(buf, offset); err != nil {
			return offset, err
		}
		offset = r.Next
		if len(s.contents.tail.list) >= settleEvery {
			s.contents.settle(s.limits(), offset)
		}
	}
}

// scanned takes the batches of a range, from offset on.
func (s *Stream) scanned(b []byte, offset int64) error {
	for len(b) > 0 {
		batch, rest, err := log.ParseBatch(b)
		if err != nil {
			return err
		}
		s.take(batch, offset, false)
		b = rest
	}
	return nil
}
