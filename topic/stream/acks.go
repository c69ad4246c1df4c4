package stream

import (
	"errors"
	"sync"
)

const (
	maxWaitingMessages = 100_000
	maxWaitingBytes    = 128 << 20
)

// errStopped answers what is published when the broker stops, or the stream is deleted.
var errStopped = errors.New("stream is closed")

// acks are the publications that wait for an answer, in the order of their sequences.
type acks struct {
	mu       sync.Mutex
	list     []ack // guarded by mu
	messages int   // guarded by mu: given out and not answered yet, too
	bytes    int   // guarded by mu
	closed   bool  // guarded by mu: nobody answers any more
}

// ack is one of them.
type ack struct {
	needs     uint64 // the sequence that has to be durable
	receipt   Receipt
	size      int
	err       error // it failed already
	done      func(Receipt, error)
	republish func()
}

// room says why nothing more can wait.
func (a *acks) room() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return StoreFailed(errStopped)
	case a.messages >= maxWaitingMessages || a.bytes >= maxWaitingBytes:
		return ErrTooManyRequests
	}
	return nil
}

// add lets one more wait.
func (a *acks) add(one ack) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return StoreFailed(errStopped)
	}
	a.list = append(a.list, one)
	a.messages++
	a.bytes += one.size
	return nil
}

// fail gives those that wait for a sequence from on their error.
func (a *acks) fail(from uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.list {
		if a.list[i].needs >= from {
			a.list[i].err = err
		}
	}
}

// take returns all that wait, and the highest sequence that they need.
func (a *acks) take() (list []ack, needs uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list, a.list = a.list, nil
	for _, one := range list {
		if one.err == nil {
			needs = max(needs, one.needs)
		}
	}
	return list, needs
}

// answered makes room for as many others.
func (a *acks) answered(list []ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range list {
		a.messages--
		a.bytes -= one.size
	}
}

// close refuses all that would still wait, and returns those that do.
func (a *acks) close() []ack {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	list, _ := a.take()
	return list
}
