package consumer

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
)

// store saves changes in the order in which they were added. All that were added while one transaction was written go
// into the next one, so that many clients share one sync.
type store struct {
	db   *bbolt.DB
	log  zerolog.Logger
	wake chan struct{} // holds one: the queue is not empty

	mu     sync.Mutex
	queue  []*write
	closed bool
}

// write is one change on its way to the disk.
type write struct {
	put  func(*bbolt.Tx) error
	then func(error) // called, in order, before anybody who waits; may be nil
	done chan struct{}
	err  error // valid once done is closed
}

func newStore(db *bbolt.DB, l zerolog.Logger) *store {
	return &store{db: db, log: l, wake: make(chan struct{}, 1)}
}

// add queues a change. When its fate is known, then is called with it.
func (s *store) add(put func(*bbolt.Tx) error, then func(error)) *write {
	w := &write{put: put, then: then, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.err = ErrClosed
		close(w.done)
		return w
	}
	s.queue = append(s.queue, w)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return w
}

// wait returns when the change is synced, or cannot be.
func (w *write) wait(ctx context.Context) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes until ctx is done, and then what is left.
func (s *store) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-s.wake:
			s.flush(s.take(false))
		case <-ctx.Done():
		}
	}
	s.flush(s.take(true))
}

func (s *store) take(last bool) []*write {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.queue
	s.queue, s.closed = nil, last
	return batch
}

// flush writes a batch in one transaction. One that fails takes nothing with it: bbolt goes back to the state before,
// those who wait are told, and the next batch is tried as usual.
func (s *store) flush(batch []*write) {
	if len(batch) == 0 {
		return
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		for _, w := range batch {
			if err := w.put(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrStorage, err)
		s.log.Error().Err(err).Int("changes", len(batch)).
			Msg("group offsets could not be saved: the clients were told, what was saved before is kept; check the disk")
	}
	for _, w := range batch {
		w.err, w.put = err, nil
		if w.then != nil {
			w.then(err)
		}
		close(w.done)
	}
}
