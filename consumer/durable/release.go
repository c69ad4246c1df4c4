package durable

import (
	"context"
	"maps"
	"slices"

	"brokerd/topic/stream"
)

// release gives the stream the messages that no consumer needs any more, and deletes the consumer if nobody has used it
// for too long. It is called without c.mu.
func (c *Consumer) release() {
	c.mu.Lock()
	list := c.released
	c.released = nil
	expired := c.expired && !c.gone
	c.mu.Unlock()
	if len(list) > 0 {
		c.all.acknowledge(c, list)
	}
	if expired {
		c.all.log.Debug().Str("stream", c.names.stream).Str("consumer", c.names.consumer).
			Msg("a consumer is deleted: nobody used it for longer than its inactive threshold")
		c.all.remove(c)
	}
}

// acknowledge tells the stream of messages that by is done with, and no other consumer needs.
func (cs *Consumers) acknowledge(by *Consumer, sequences []uint64) {
	others := cs.List(by.names.stream)
	others = slices.DeleteFunc(others, func(c *Consumer) bool { return c == by })
	sequences = slices.DeleteFunc(sequences, func(seq uint64) bool {
		return slices.ContainsFunc(others, func(c *Consumer) bool { return c.needs(seq) })
	})
	by.stream.Acknowledged(sequences...)
}

// needs says that a message is to be kept in the stream for this consumer.
func (c *Consumer) needs(sequence uint64) bool {
	c.mu.Lock()
	needs, filters := !c.gone && c.machine.needs(sequence), c.machine.config.filters()
	c.mu.Unlock()
	if !needs || len(filters) == 0 {
		return needs
	}
	found, ok := c.stream.Next(sequence, filters)
	return ok && found == sequence
}

// sweepStep is how many messages are looked at before the stream is told.
const sweepStep = 1000

// sweep removes what no consumer needs from a stream with interest retention: after a consumer was deleted or wants other
// subjects, and after a crash between an acknowledgement and the removal. From a work queue it removes what the consumer of
// a message is done with.
func (cs *Consumers) sweep(s *stream.Stream) {
	config := s.Config()
	state, err := s.State()
	if config.Retention == stream.Limits || err != nil {
		return
	}
	consumers := cs.List(s.Name())
	var useless []uint64
	for seq, ok := s.Next(state.First, nil); ok && seq <= state.Last; seq, ok = s.Next(seq+1, nil) {
		needed := slices.ContainsFunc(consumers, func(c *Consumer) bool { return c.needs(seq) })
		if config.Retention == stream.WorkQueue { // what nobody has taken yet stays
			needed = needed || !slices.ContainsFunc(consumers, func(c *Consumer) bool { return c.finished(seq) })
		}
		if !needed {
			useless = append(useless, seq)
		}
		if len(useless) == sweepStep {
			s.Acknowledged(useless...)
			useless = useless[:0]
		}
	}
	s.Acknowledged(useless...)
}

// sweepAll removes what a crash left behind.
func (cs *Consumers) sweepAll(ctx context.Context) {
	cs.mu.RLock()
	names := slices.Collect(maps.Keys(cs.byStream))
	cs.mu.RUnlock()
	for _, name := range names {
		if s, ok := cs.streams.Get(name); ok && ctx.Err() == nil && s.Config().Retention != stream.Limits {
			cs.sweep(s)
		}
	}
}

// finished says that the consumer was given a message and is done with it.
func (c *Consumer) finished(sequence uint64) bool {
	c.mu.Lock()
	finished, filters := !c.gone && !c.machine.needs(sequence), c.machine.config.filters()
	c.mu.Unlock()
	if !finished || len(filters) == 0 {
		return finished
	}
	found, ok := c.stream.Next(sequence, filters)
	return ok && found == sequence
}
