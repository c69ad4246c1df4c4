package durable

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/consumer/store"
	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// Delete removes a consumer; its waiting pull requests are told. Errors: *stream.Error 10014, 10059.
func (cs *Consumers) Delete(streamName, name string) error {
	s, ok := cs.streams.Get(streamName)
	if !ok {
		return stream.ErrStreamNotFound
	}
	c, ok := cs.Get(streamName, name)
	if !ok {
		return stream.ErrConsumerNotFound
	}
	w, ok := cs.remove(c)
	if !ok {
		return stream.ErrConsumerNotFound
	}
	if s.Config().Retention == stream.Interest {
		cs.sweep(s)
	}
	return waitFor(w)
}

// remove takes a consumer out of the table and ends it. False when that was done before.
func (cs *Consumers) remove(c *Consumer) (*store.Write, bool) {
	if !cs.forget(c) {
		return nil, false
	}
	c.mu.Lock()
	now := time.Now()
	c.machine.endAll("409 Consumer Deleted", false, now)
	c.machine.adviseAction("delete", now)
	c.performAll(nil)
	c.gone = true
	c.unwatch()
	var w *store.Write
	if c.key != nil {
		w = cs.store.Add(func(tx *bbolt.Tx) error { return deleteConsumer(tx, c.key) }, nil)
	}
	c.mu.Unlock()
	poke(c.wake)
	cs.setInterest(c.stream)
	return w, true
}

// forget takes a consumer out of the table. False when it was not there.
func (cs *Consumers) forget(c *Consumer) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := cs.byStream[c.names.stream]
	if list[c.names.consumer] != c {
		return false
	}
	delete(list, c.names.consumer)
	if len(list) == 0 {
		delete(cs.byStream, c.names.stream)
	}
	return true
}

// streamDeleted removes the consumers of a stream that is gone.
func (cs *Consumers) streamDeleted(s *stream.Stream) {
	for _, c := range cs.List(s.Name()) {
		if c.stream == s {
			cs.remove(c)
		}
	}
}

// streamChanges refuses limits of a stream that its consumers exceed.
func (cs *Consumers) streamChanges(s *stream.Stream, next stream.Config) error {
	old := s.Config().Limits
	var over []string
	for _, c := range cs.List(s.Name()) {
		config, limits := c.config(), next.Limits
		if limits.InactiveThreshold > 0 && limits.InactiveThreshold != old.InactiveThreshold && config.InactiveThreshold > limits.InactiveThreshold ||
			limits.MaxAckPending > 0 && limits.MaxAckPending != old.MaxAckPending && config.MaxAckPending > limits.MaxAckPending {
			over = append(over, c.names.consumer)
		}
	}
	if len(over) > 0 {
		return stream.UpdateFailed(fmt.Errorf("change to limits violates consumers: %s", strings.Join(over, ", ")))
	}
	return nil
}

// setInterest tells a stream which subjects its consumers want.
func (cs *Consumers) setInterest(s *stream.Stream) {
	var filters []string
	all := false
	for _, c := range cs.List(s.Name()) {
		config := c.config()
		filters = append(filters, config.filters()...)
		all = all || len(config.filters()) == 0
	}
	s.SetInterest(func(literal string) bool {
		return all || slices.ContainsFunc(filters, func(f string) bool { return subject.Match(f, literal) })
	})
}

func sameFilters(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
