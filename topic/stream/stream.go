package stream

import (
	"context"
	"sync/atomic"
	"time"

	"brokerd/topic"
)

// Stream is one stream. It stays valid, but refuses everything, after it was deleted.
type Stream struct {
	o      Options
	topic  *topic.Topic
	number int32 // of the topic's partition
	config atomic.Pointer[Config]
	gone   atomic.Bool
	work   chan struct{} // room for one: there is something for run to do
}

// newStream makes the stream that partition number of t is, with a complete configuration. It starts nothing and reads
// nothing.
func newStream(o Options, t *topic.Topic, number int32, c Config) *Stream {
	s := &Stream{o: o, topic: t, number: number, work: make(chan struct{}, 1)}
	s.config.Store(&c)
	return s
}

// configure replaces the configuration. When it returns, new limits hold.
func (s *Stream) configure(c Config) {
	s.config.Store(&c)
	s.wake()
}

// wake makes run look for something to do.
func (s *Stream) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// run writes what is published, acknowledges it, and removes what limits and times tell to, until ctx is done or the
// stream is deleted. It is called once.
func (s *Stream) run(ctx context.Context) error { panic("stream: run") }

// close makes the stream refuse everything, after its topic was deleted. Whoever watches it is told.
func (s *Stream) close() {
	s.gone.Store(true)
	s.wake()
}

// Name is the stream's name.
func (s *Stream) Name() string { return s.config.Load().Name }

// Config is the configuration with every default filled in. The caller does not change it.
func (s *Stream) Config() Config { return *s.config.Load() }

// Created is when the stream was made.
func (s *Stream) Created() time.Time { return s.topic.Created() }

// Topic is the topic that the stream is, and the number of its partition.
func (s *Stream) Topic() (*topic.Topic, int32) { return s.topic, s.number }

// Gone says that the stream was deleted.
func (s *Stream) Gone() bool { return s.gone.Load() }
