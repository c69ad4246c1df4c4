// Package store saves changes to the metadata database in the order in which they were made, many in one transaction.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
)

// Errors that a change can meet.
var (
	// ErrFailed says that the change could not be saved; it may be tried again.
	ErrFailed = errors.New("store: cannot save")
	// ErrClosed says that the broker is stopping.
	ErrClosed = errors.New("store: closed")
)

// Store saves changes in the order in which they were added. All that were added while one transaction was written
// go into the next one, so that many clients share one sync.
type Store struct {
	db   *bbolt.DB
	what string
	log  zerolog.Logger
	wake chan struct{} // holds one: the queue is not empty

	mu     sync.Mutex
	queue  []*Write
	closed bool
}

// Write is one change on its way to the disk.
type Write struct {
	put  func(*bbolt.Tx) error
	then func(error) // called, in order, before anybody who waits; may be nil
	done chan struct{}
	err  error // valid once done is closed
}

// New makes a store. What names that which is saved, in messages to operators.
func New(db *bbolt.DB, what string, l zerolog.Logger) *Store {
	return &Store{db: db, what: what, log: l, wake: make(chan struct{}, 1)}
}

// Add queues a change: put is called in the transaction. When its fate is known, then is called with it, ErrFailed if it
// was not saved; nil is no call. After Run has ended, the change is refused with ErrClosed, and then is not called.
func (s *Store) Add(put func(*bbolt.Tx) error, then func(error)) *Write {
	w := &Write{put: put, then: then, done: make(chan struct{})}
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

// Refused says that the change came too late: nobody saves it.
func (w *Write) Refused() bool {
	select {
	case <-w.done:
		return errors.Is(w.err, ErrClosed)
	default:
		return false
	}
}

// Wait returns when the change is synced, or cannot be. Errors: ErrFailed, ErrClosed, ctx's.
func (w *Write) Wait(ctx context.Context) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run writes until ctx is done, and then what is left.
func (s *Store) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-s.wake:
			s.flush(s.take(false))
		case <-ctx.Done():
		}
	}
	s.flush(s.take(true))
}

func (s *Store) take(last bool) []*Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.queue
	s.queue, s.closed = nil, last
	return batch
}

// flush writes a batch in one transaction. One that fails takes nothing with it: bbolt goes back to the state before,
// those who wait are told, and the next batch is tried as usual.
func (s *Store) flush(batch []*Write) {
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
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		s.log.Error().Err(err).Int("changes", len(batch)).
			Msg(s.what + " could not be saved: the clients were told, what was saved before is kept; check the disk")
	}
	for _, w := range batch {
		w.err, w.put = err, nil
		if w.then != nil {
			w.then(err)
		}
		close(w.done)
	}
}
