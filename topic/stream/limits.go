package stream

import (
	"errors"
	"time"

	"brokerd/topic/subject"
)

// Texts that clients compare.
var (
	errMaxMessages           = errors.New("maximum messages exceeded")
	errMaxBytes              = errors.New("maximum bytes exceeded")
	errMaxMessagesPerSubject = errors.New("maximum messages per subject exceeded")
)

// limits are those of a stream's limits that every message is held to; zero for none.
type limits struct {
	messages, bytes, perSubject uint64
	age                         time.Duration
	times                       bool // Nats-TTL counts
	rollups                     bool // Nats-Rollup counts
	schedules                   bool // Nats-Schedule counts
}

// limitsOf are the limits that a configuration sets. A topic made through Kafka has none: its own retention and compaction
// remove what is too old or too much, segment by segment, as its users expect.
func limitsOf(c *Config, kafka bool) limits {
	if kafka {
		return limits{}
	}
	return limits{
		messages: uint64(max(c.MaxMsgs, 0)), bytes: uint64(max(c.MaxBytes, 0)), perSubject: uint64(max(c.MaxMsgsPer, 0)),
		age: max(c.MaxAge, 0), schedules: c.Schedules, times: c.AllowTTL || c.MarkerTTL > 0, rollups: c.AllowRollup && !c.DenyPurge || c.MarkerTTL > 0,
	}
}

// refuse says that a message may not be stored because the stream is full and discards what is new. oldest finds the message
// that would make room for it.
func (c *contents) refuse(conf *Config, l limits, subject string, size uint64, rollup rollup) error {
	if conf.Discard != DiscardNew {
		return nil
	}
	makesRoom := uint64(0)
	if id, ok := c.index.subjects.ids[subject]; ok && l.perSubject > 0 {
		s := &c.index.subjects.list[id]
		if s.count+uint64(s.ahead) >= l.perSubject {
			if conf.DiscardPer && rollup == rollupNone {
				return errMaxMessagesPerSubject
			}
			makesRoom = 1
			if s.count > 0 {
				e, _, _ := c.index.get(c.index.oldest(id))
				makesRoom = e.bytes()
			}
		}
	}
	if l.messages > 0 && c.index.messages+c.tail.messages >= l.messages && makesRoom == 0 {
		return errMaxMessages
	}
	if l.bytes > 0 && c.index.bytes+c.tail.bytes+size > l.bytes && makesRoom < size {
		return errMaxBytes
	}
	return nil
}

// enforce removes what has to go now that m is in the index.
func (c *contents) enforce(l limits, m stored) {
	id := m.entry.subject
	switch {
	case l.rollups && m.rollup == rollupAll:
		c.cut(m.sequence)
	case l.rollups && m.rollup == rollupSubject:
		c.rollUp(id)
	case l.perSubject > 0:
		c.keep(id, l.perSubject)
	}
	c.fit(l)
}

// rollUp removes what the newest message of a subject replaces: the older ones of its subject, or, if that has wildcards, all
// older ones of the subjects that they match, as in nats-server.
func (c *contents) rollUp(id uint32) {
	s := &c.index.subjects
	if name := s.list[id].name; !subject.Literal(name) {
		if m, ok := s.matcher([]string{name}); ok {
			s.matching(m, func(other uint32, _ *named) {
				if other != id {
					c.keep(other, 0)
				}
			})
		}
	}
	c.keep(id, 1)
}

// keep removes all but the newest n messages of a subject.
func (c *contents) keep(id uint32, n uint64) {
	for c.index.subjects.list[id].count > n {
		c.evict(c.index.oldest(id))
	}
}

// fit removes the oldest messages, as far as there are too many, or too many bytes.
func (c *contents) fit(l limits) {
	for l.messages > 0 && c.index.messages > l.messages || l.bytes > 0 && c.index.bytes > l.bytes && c.index.messages > 0 {
		sequence, _, _ := c.index.first()
		c.evict(sequence)
	}
}

// cut removes everything below a sequence.
func (c *contents) cut(below uint64) {
	for {
		first, _, _ := c.index.first()
		if first == 0 || first >= below {
			return
		}
		c.evict(first)
	}
}

// evict removes a message for readers of NATS at once, and for readers of Kafka when the log was told.
func (c *contents) evict(sequence uint64) bool {
	e, _, ok := c.index.get(sequence)
	if !ok {
		return false
	}
	c.forget(sequence, e)
	c.gone = append(c.gone, int64(sequence)-1)
	return true
}

// forget takes a message out of the index that the log does not have any more.
func (c *contents) forget(sequence uint64, e cell) {
	c.index.remove(sequence)
	c.schedules.forget(sequence)
	if e.size&flagTTL != 0 && e.size&flagNever == 0 {
		c.expiries.gone++
	}
}

// apply holds everything that is stored to new limits.
func (c *contents) apply(l limits) {
	if l.perSubject > 0 {
		c.index.subjects.matching(nil, func(id uint32, _ *named) { c.keep(id, l.perSubject) })
	}
	c.fit(l)
}
