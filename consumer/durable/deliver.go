package durable

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// offered is a message of the stream that can be delivered.
type offered struct {
	sequence uint64
	time     time.Time
	size     int    // bytes of subject, header and data as they are sent
	pending  uint64 // messages that the consumer has not been given, without this one
}

// offer delivers a message that is wanted. It says false when nobody can take it now.
func (m *machine) offer(o offered, now time.Time, to clients) bool {
	if m.pace.early(o.time, now) {
		return false
	}
	e := m.pending.get(o.sequence)
	deliveries := uint64(1)
	if e != nil {
		deliveries = e.deliveries + 1
	}
	s := send{sequence: o.sequence, reply: m.ackSubject(o, deliveries), settles: m.keep && !m.config.acks()}
	size := o.size + len(s.reply)
	var r *request
	if m.config.push() {
		s.inbox = m.config.DeliverSubject
	} else {
		if r = m.pick(size, o.pending, now, to); r == nil {
			return false
		}
		s.inbox, s.pin = r.inbox, m.pin.id
	}
	m.record(o, e, now)
	m.pace.sent(o.time, size, now)
	m.do(s)
	if r != nil {
		m.served(r, now)
	} else {
		m.pushed(size, now)
	}
	return true
}

// record notes a delivery; e is what is known of the message, nil if this is its first.
func (m *machine) record(o offered, e *entry, now time.Time) {
	m.delivered.consumer++
	m.last.delivered = now
	if e == nil {
		m.delivered.stream = max(m.delivered.stream, o.sequence)
		if len(m.skip) > 0 && m.skip[0] == o.sequence {
			m.skipped()
		} else {
			m.next = o.sequence + 1
		}
	}
	if !m.config.acks() {
		m.moveFloor()
		return
	}
	if e == nil {
		e = &entry{place: place{m.delivered.consumer, o.sequence}}
		m.pending.add(e)
	}
	e.deliveries++
	e.sent = now
	m.pending.schedule(e, now.Add(m.wait(e.deliveries)))
	m.unsaved[e.stream] = true
}

// lost tells that nobody was there when a message was sent: it is as if it had not been delivered.
func (m *machine) lost(sequence uint64) {
	e := m.pending.get(sequence)
	if e == nil {
		if !m.config.acks() && m.next == sequence+1 {
			m.next = sequence
		}
		return
	}
	e.deliveries--
	m.pending.enqueueFirst(e)
	m.unsaved[sequence] = true
}

// ackSubject is where the acknowledgement of a delivery goes. It tells the client all that there is to know about the
// message, in nine tokens.
func (m *machine) ackSubject(o offered, deliveries uint64) string {
	b := make([]byte, 0, 96)
	b = append(b, ackPrefix...)
	b = append(b, m.names.stream...)
	b = append(b, '.')
	b = append(b, m.names.consumer...)
	for _, n := range []uint64{deliveries, o.sequence, m.delivered.consumer + 1, uint64(o.time.UnixNano()), o.pending} {
		b = append(b, '.')
		b = strconv.AppendUint(b, n, 10)
	}
	return string(b)
}

// tick does what is due: deliveries again, heartbeats, the end of requests, of a pause, of a pin, and of the consumer.
func (m *machine) tick(now time.Time, to clients) {
	m.requeue(now)
	if m.paused && !m.config.pausedAt(now) {
		m.paused = false
		m.advisePause(now)
	}
	if m.pin.expired(now) {
		m.unpin("timeout", now)
	}
	if m.config.push() {
		m.listen(now, to)
	} else {
		m.endRequests(now, to)
		if m.config.pausedAt(now) {
			m.endNoWait(now)
		}
	}
	if due := m.inactiveAt(); !due.IsZero() && !now.Before(due) {
		m.ended = true
		m.do(expire{})
	}
}

// requeue makes what is due wait for its next delivery, in the order of the stream, or gives it up.
func (m *machine) requeue(now time.Time) {
	list := m.pending.takeDue(now)
	if len(list) > 0 && !m.config.push() {
		m.last.used = now // up to now, somebody may have been at work
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.stream, b.stream) })
	for _, e := range list {
		m.again(e, now)
	}
}

// again makes a message wait for its next delivery, if it has one left.
func (m *machine) again(e *entry, now time.Time) {
	if m.config.MaxDeliver > 0 && e.deliveries >= uint64(m.config.MaxDeliver) {
		m.adviseMaxDeliver(e, now)
		if m.keep {
			m.givenUp[e.stream] = true
		}
		m.forget(e)
		return
	}
	m.pending.enqueue(e)
}

// inactiveAt is when the consumer was unused for so long that it is to go; zero for never, or not while it is used.
func (m *machine) inactiveAt() time.Time {
	if m.ended || m.config.InactiveThreshold <= 0 || m.bound || !m.waiting.empty() {
		return time.Time{}
	}
	used := m.last.used
	if m.config.push() { // who does not listen any more is not at work either
		return used.Add(m.config.InactiveThreshold)
	}
	if latest := m.pending.latest(); latest.After(used) {
		used = latest
	}
	return used.Add(m.config.InactiveThreshold)
}

// deadline is when tick has to be called next; zero for never.
func (m *machine) deadline(now time.Time) time.Time {
	d := earliest(m.pending.earliest(), m.inactiveAt(), m.pin.until, m.beat, m.waiting.deadline(), m.pace.until(now))
	if m.paused {
		d = earliest(d, *m.config.PauseUntil)
	}
	return d
}

// earliest leaves zero times out.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
