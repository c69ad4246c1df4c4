package stream

import (
	"fmt"
	"time"

	"brokerd/topic"
)

// expireAtOnce is the most messages that expire in one go, while the partition's lock is held.
const expireAtOnce = 10_000

// expire removes messages that are too old, and returns how long until the next one is.
func (s *Stream) expire() time.Duration {
	var next time.Duration
	var mark, timedOut []string
	err := s.with(func(_ topic.Tail, c *contents) error {
		now := time.Now()
		conf, l := s.config.Load(), s.limits()
		c.ids.prune(now.UnixMilli(), conf.Duplicates)
		x := expiring{c: c, now: now.UnixMilli(), marks: conf.MarkerTTL > 0}
		at := min(x.byAge(l.age), x.byTime())
		mark = x.mark
		next = time.UnixMilli(at).Sub(now)
		idle, dropped := c.batches.idle(now)
		if !idle.IsZero() {
			next = min(next, idle.Sub(now))
		}
		timedOut = dropped
		return nil
	})
	s.fast.idle(time.Now())
	if err != nil {
		return time.Hour
	}
	for _, subject := range mark {
		s.publishMarker(subject)
	}
	for _, id := range timedOut {
		s.abandoned(id, "timeout")
	}
	return max(min(next, time.Hour), time.Millisecond)
}

// expiring is one search for messages that are too old.
type expiring struct {
	c     *contents
	now   int64
	marks bool     // the last message of a subject leaves a marker
	mark  []string // subjects that get one
}

// byAge removes what is older than max_age, and returns when the next message will be.
func (x *expiring) byAge(age time.Duration) int64 {
	if age == 0 {
		return never
	}
	from := uint64(0)
	for range expireAtOnce {
		from = x.c.index.next(from, nil)
		if from == 0 {
			return never
		}
		e, at, _ := x.c.index.get(from)
		if end := at + age.Milliseconds(); end > x.now && e.size&flagNever == 0 {
			return end
		}
		if e.size&flagNever == 0 {
			x.remove(from, e)
		}
		from++
	}
	return x.now
}

// byTime removes what has outlived its time to live, and returns when the next message will have.
func (x *expiring) byTime() int64 {
	q := &x.c.expiries
	q.tidy(&x.c.index)
	for range expireAtOnce {
		sequence := q.due(x.now)
		if sequence == 0 {
			break
		}
		e, _, ok := x.c.index.get(sequence)
		if ok && !x.remove(sequence, e) {
			q.add(sequence, x.now+markerRetry.Milliseconds())
			continue
		}
		q.gone-- // it is not in the queue any more
	}
	if len(q.queue) == 0 {
		return never
	}
	return q.queue[0].at
}

// never is a time that does not come.
const never = int64(1) << 53

// remove takes a message out that has expired. The last one of its subject stays until a marker replaces it: then it says
// false.
func (x *expiring) remove(sequence uint64, e cell) bool {
	n := &x.c.index.subjects.list[e.subject]
	if x.marks && e.size&flagMarker == 0 && n.count == 1 {
		if n.ahead == 0 {
			x.mark = append(x.mark, n.name)
		}
		return false
	}
	return x.c.evict(sequence)
}

// markerRetry is when an expired message that waits for its marker is looked at again.
const markerRetry = time.Second

// publishMarker says that the last message of a subject has expired (ADR-43), and so removes it.
func (s *Stream) publishMarker(subject string) {
	ttl := s.config.Load().MarkerTTL.Truncate(time.Second)
	header := fmt.Appendf(nil, "%s%s: MaxAge\r\n%s: %s\r\n%s: sub\r\n\r\n", headerOpening, headerMarker, headerTTL, ttl, headerRollup)
	m := &incoming{Publication: Publication{Subject: subject, Header: header}, copied: true}
	if err := s.publish(m); err != nil {
		s.o.Logger.Warn().Str("stream", s.Name()).Err(err).
			Msg("a message has expired, and the marker of its deletion could not be written; the message stays, and it is tried again")
	}
}
