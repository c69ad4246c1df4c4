package stream

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"time"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
)

const (
	fireAtOnce = 1000        // messages that are published again in one round
	fireRetry  = time.Second // when that failed
	inFlight   = int64(-1)   // instead of a time: it is being published
)

// schedules is which messages are published again, and when. Entries of queue that at does not agree with are void.
type schedules struct {
	queue expiryQueue
	at    map[uint64]int64 // by sequence, in milliseconds
}

// has says that a message is to be published again.
func (s *schedules) has(sequence uint64) bool {
	_, ok := s.at[sequence]
	return ok
}

func (s *schedules) add(sequence uint64, at int64) {
	if s.at == nil {
		s.at = make(map[uint64]int64)
	}
	s.at[sequence] = at
	heap.Push(&s.queue, expiry{sequence, at})
	if len(s.queue) > 1024+2*len(s.at) {
		s.tidy()
	}
}

// forget drops a message that is gone.
func (s *schedules) forget(sequence uint64) { delete(s.at, sequence) }

// tidy drops void entries.
func (s *schedules) tidy() {
	s.queue = s.queue[:0]
	for sequence, at := range s.at {
		if at != inFlight {
			s.queue = append(s.queue, expiry{sequence, at})
		}
	}
	heap.Init(&s.queue)
}

// due takes out the next message that is to be published no later than now; false when there is none.
func (s *schedules) due(now int64) (expiry, bool) {
	for len(s.queue) > 0 && (s.queue[0].at <= now || s.at[s.queue[0].sequence] != s.queue[0].at) {
		next := heap.Pop(&s.queue).(expiry)
		if s.at[next.sequence] == next.at {
			s.at[next.sequence] = inFlight
			return next, true
		}
	}
	return expiry{}, false
}

// next is when the next one is due.
func (s *schedules) next() int64 {
	if len(s.queue) == 0 {
		return never
	}
	return s.queue[0].at
}

// fired is what a message that was published by a schedule says about it.
type fired struct {
	scheduler string // the subject of the scheduled message
	next      int64  // when it is published next, in milliseconds; 0 for never again
}

// plans collects what the headers of a record say about schedules.
type plans struct {
	pattern, scheduler, next string
	zone                     *string
}

func (p *plans) header(h log.Header) {
	switch h.Key {
	case headerSchedule:
		p.pattern = string(h.Value)
	case headerScheduleZone:
		zone := string(h.Value)
		p.zone = &zone
	case headerScheduler:
		p.scheduler = string(h.Value)
	case headerScheduleNext:
		p.next = string(h.Value)
	}
}

// apply puts it into what the index keeps of the record.
func (p *plans) apply(m *stored) {
	if p.pattern != "" {
		plan := scheduling{pattern: p.pattern, zone: p.zone}
		if times, err := plan.times(); err == nil {
			if first, ok := times.next(time.UnixMilli(m.time), time.Now()); ok {
				m.due = first.UnixMilli()
			}
		}
	}
	if p.scheduler == "" || p.next == "" {
		return
	}
	if p.next == scheduleOver {
		m.fired = &fired{scheduler: p.scheduler}
	} else if t, err := time.Parse(time.RFC3339Nano, p.next); err == nil {
		m.fired = &fired{p.scheduler, t.UnixMilli()}
	}
}

// schedule takes note of a message that is now in the index.
func (c *contents) schedule(m stored) {
	if m.due != 0 {
		c.schedules.add(m.sequence, m.due)
	}
	if m.fired == nil {
		return
	}
	id, ok := c.index.subjects.ids[m.fired.scheduler]
	switch {
	case !ok:
	case m.fired.next == 0:
		c.keep(id, 0)
	case c.schedules.has(c.index.subjects.list[id].last):
		c.schedules.add(c.index.subjects.list[id].last, m.fired.next)
	}
}

// fire publishes the messages that are due, and returns how long until the next one is.
func (s *Stream) fire() time.Duration {
	if conf := s.config.Load(); !conf.Schedules || conf.Sealed {
		return time.Hour
	}
	var due []expiry
	wait := time.Hour
	err := s.with(func(_ topic.Tail, c *contents) error {
		now := time.Now()
		for range fireAtOnce {
			one, ok := c.schedules.due(now.UnixMilli())
			if !ok {
				break
			}
			due = append(due, one)
		}
		wait = min(wait, time.UnixMilli(c.schedules.next()).Sub(now))
		return nil
	})
	if err != nil {
		return time.Hour
	}
	for _, one := range due {
		err := s.fireOne(one)
		if err == nil || errors.Is(err, ErrNoMessage) {
			continue
		}
		wait = min(wait, fireRetry)
		s.o.Logger.Warn().Str("stream", s.Name()).Uint64("sequence", one.sequence).Err(err).
			Msg("a scheduled message could not be published; it is tried again")
		_ = s.with(func(_ topic.Tail, c *contents) error {
			c.schedules.add(one.sequence, time.Now().Add(fireRetry).UnixMilli())
			return nil
		})
	}
	return max(wait, time.Millisecond)
}

// fireOne publishes what a scheduled message tells to. What becomes of the schedule is decided when that is durable, by
// contents.schedule.
func (s *Stream) fireOne(one expiry) error {
	m, err := s.Get(one.sequence)
	if err != nil {
		return err
	}
	plan := parseScheduling(m.Header)
	times, err := plan.times()
	if err != nil {
		return err
	}
	content := m
	if plan.source != "" {
		if last, err := s.Last(plan.source); err == nil {
			content = last
		}
	}
	next := scheduleOver
	if !times.once() {
		if t, ok := times.next(time.UnixMilli(one.at), time.Now()); ok {
			next = t.Format(time.RFC3339Nano)
		}
	}
	return s.publish(&incoming{Publication: Publication{
		Subject: plan.target, Header: plan.header(content, m.Subject, next), Data: content.Data,
	}, copied: true})
}

// header is the header block of what is published.
func (p *scheduling) header(content message.Message, scheduler, next string) []byte {
	var b bytes.Buffer
	b.WriteString(headerOpening)
	for line := range bytes.Lines(content.Header) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && !aboutPublishing(name) {
			b.Write(line)
		}
	}
	fmt.Fprintf(&b, "%s: %s\r\n%s: %s\r\n", headerScheduler, scheduler, headerScheduleNext, next)
	if p.ttl != "" {
		fmt.Fprintf(&b, "%s: %s\r\n", headerTTL, p.ttl)
	}
	if p.rollup != "" {
		fmt.Fprintf(&b, "%s: %s\r\n", headerRollup, p.rollup)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// aboutPublishing says that a header was for the message as it was published first, and not for what is made of it.
func aboutPublishing(name []byte) bool {
	for _, prefix := range []string{headerSchedule, headerScheduler, "Nats-Expected-"} {
		if bytes.HasPrefix(name, []byte(prefix)) {
			return true
		}
	}
	switch string(name) {
	case headerID, headerTTL, headerRollup:
		return true
	}
	return false
}
