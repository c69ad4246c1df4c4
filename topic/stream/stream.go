package stream

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
	"brokerd/topic/subject"
)

// Stream is one stream. It stays valid, but refuses everything, after it was deleted.
type Stream struct {
	o         Options
	topic     *topic.Topic
	number    int32            // of the partition
	part      *topic.Partition // nil when the topic has none of that number
	config    atomic.Pointer[Config]
	transform atomic.Pointer[subject.Transform]
	republish atomic.Pointer[subject.Transform]
	wanted    atomic.Pointer[func(subject string) bool]
	gone      atomic.Bool

	turn     chan struct{} // whoever makes the index holds it
	loaded   atomic.Bool   // the index is made: contents may be used, with the partition's lock held
	contents *contents
	follower *follower

	acks     acks
	open     openBatches
	fast     fastBatches
	watchers watchers
	work     chan struct{} // room for one: there is something for run to do
	front    chan struct{} // room for one: the log begins before the oldest message
}

// newStream makes the stream that partition number of t is, with a complete configuration. It starts nothing and reads
// nothing.
func newStream(o Options, t *topic.Topic, number int32, c Config) *Stream {
	s := &Stream{o: o, topic: t, number: number, work: make(chan struct{}, 1), front: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	if p, err := t.Partition(number); err == nil {
		s.part = p
	}
	s.open.all = o.batches
	s.adopt(c)
	return s
}

// adopt takes over a configuration.
func (s *Stream) adopt(c Config) {
	s.config.Store(&c)
	var transform, republish *subject.Transform // they were checked with the configuration
	if c.Transform != nil {
		transform, _ = subject.New(c.Transform.Source, c.Transform.Destination)
	}
	if c.Republish != nil {
		republish, _ = subject.New(c.Republish.Source, c.Republish.Destination)
	}
	s.transform.Store(transform)
	s.republish.Store(republish)
}

// configure replaces the configuration. When it returns, new limits hold.
func (s *Stream) configure(c Config) {
	s.adopt(c)
	if s.loaded.Load() {
		_ = s.with(func(_ topic.Tail, held *contents) error {
			held.apply(s.limits())
			return nil
		})
		if err := s.settleRemovals(); err != nil && !over(err) {
			s.o.Logger.Error().Str("stream", s.Name()).Err(err).
				Msg("what a new limit of a stream removes could not be removed from its log; it is tried again")
		}
	}
	s.wake()
	s.watchers.tell()
}

// wake makes run look for something to do.
func (s *Stream) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// close makes the stream refuse everything, after its topic was deleted. Whoever watches it is told.
func (s *Stream) close() {
	s.gone.Store(true)
	s.wake()
	s.watchers.tell()
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

// kafka says that the topic was made through Kafka.
func (s *Stream) kafka() bool { return s.topic.Stream() == nil }

func (s *Stream) limits() limits { return limitsOf(s.config.Load(), s.kafka()) }

// naming is how the records of the stream are messages.
func (s *Stream) naming() message.Naming {
	if s.kafka() {
		n := message.ForTopic(s.topic.Name())
		n.KV = s.topic.Config().Compact
		return n
	}
	return message.Naming{KV: strings.HasPrefix(s.Name(), "KV_")}
}

// with calls f with the partition's lock held, when the index shows what is durable. Errors: *Error.
func (s *Stream) with(f func(t topic.Tail, c *contents) error) error {
	if s.gone.Load() || s.part == nil {
		return ErrStreamNotFound
	}
	if err := s.load(); err != nil {
		return explain(err)
	}
	return explain(s.part.Exclusive(func(t topic.Tail) error {
		s.settle()
		return f(t, s.contents)
	}))
}

// settle shows readers what became durable. The partition's lock is held.
func (s *Stream) settle() {
	b, err := s.part.Bounds()
	if err != nil {
		return
	}
	s.contents.settle(s.limits(), b.Stable)
	if len(s.contents.gone) > 0 {
		s.wake()
	}
}

// explain makes an error of the partition one of the API's.
func explain(err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, topic.ErrNotFound):
		return ErrStreamNotFound
	case errors.Is(err, log.ErrClosed):
		return ErrUnavailable
	case errors.Is(err, log.ErrFailed):
		return OfflineReason(err)
	}
	return GeneralError(err)
}
