package durable

import (
	"slices"
	"time"
)

// machine is the state of one consumer. Its methods take an event and the time, and leave in out what is to be done. It
// reads nothing, sends nothing and waits for nothing; of the clients it asks whether they listen, and take more.
//
// Invariants: the ack floor never moves back but by reset; nothing above it is forgotten that was not acknowledged, given
// up after max_deliver attempts, or removed from the stream; what was acknowledged is never delivered again.
type machine struct {
	config Config
	names  names
	// keep says that a message stays in the stream until it is acknowledged: out then tells of those that may go.
	keep  bool
	newID func() string // makes ids of pinned clients and advisories

	next      uint64   // where in the stream first deliveries go on
	skip      []uint64 // last_per_subject: the messages to deliver first
	resume    uint64   // last_per_subject: the end of the stream when skip was made
	delivered place    // of the newest delivery, and of the newest message
	floor     place    // all below it and at it is done with
	last      activity

	pending  pendings
	givenUp  map[uint64]bool // delivered max_deliver times, not acknowledged, and kept in the stream
	unsaved  map[uint64]bool // their entries in these two changed since they were last saved
	replaced bool            // and all that is stored of the two is of no use any more

	waiting queue
	pin     pin
	window  window
	pace    pace
	bound   bool      // push: somebody listens
	paused  bool      // and out was told
	beat    time.Time // push: when the next heartbeat is due; zero for never
	ended   bool      // out was told that nobody uses the consumer

	out, done []effect // what the shell has to do, and what it was given last
}

// names is what the consumer is called.
type names struct{ stream, consumer string }

func (n names) String() string { return n.stream + "/" + n.consumer }

// place is a position in the order of deliveries, and in the stream.
type place struct{ consumer, stream uint64 }

// activity is when something last happened.
type activity struct {
	delivered, acked time.Time
	used             time.Time // by a client, for the inactive threshold
}

// clients is what the machine asks about those it delivers to. The methods are the Outlet's.
type clients interface {
	Listening(inbox, group string) bool
	Room(inbox string) int64
}

// start is where a new consumer begins.
type start struct {
	next   uint64
	skip   []uint64
	resume uint64
}

func newMachine(c Config, n names, keep bool, newID func() string, now time.Time) *machine {
	m := &machine{
		config: c, names: n, keep: keep, newID: newID,
		pending: newPendings(), givenUp: map[uint64]bool{}, unsaved: map[uint64]bool{},
		last: activity{used: now},
	}
	m.begin(start{next: 1})
	m.window.reset(c)
	m.pace = pace{rate: c.RateLimit, replay: c.ReplayPolicy == ReplayOriginal}
	m.paused = c.pausedAt(now)
	return m
}

// configure changes the configuration.
func (m *machine) configure(c Config, now time.Time) {
	old := m.config
	m.config = c
	m.pace.rate, m.last.used = c.RateLimit, now
	if old.PriorityPolicy != c.PriorityPolicy {
		m.pin = pin{}
	}
	if old.DeliverSubject != c.DeliverSubject || old.DeliverGroup != c.DeliverGroup {
		m.bound, m.beat = false, time.Time{}
	}
	if old.DeliverSubject != c.DeliverSubject {
		for e := m.pending.first(); e != nil; e = e.next() { // whoever listens there has got none of it
			if e.again == nil {
				m.pending.enqueue(e)
			}
			m.unsaved[e.stream] = true
		}
	}
	if !sameTime(old.PauseUntil, c.PauseUntil) {
		m.paused = c.pausedAt(now)
		m.advisePause(now)
	}
}

// begin sets the position, without any delivery yet.
func (m *machine) begin(s start) {
	m.next, m.skip, m.resume = s.next, s.skip, s.resume
	m.delivered = place{0, s.next - 1}
	m.floor = m.delivered
}

// wanted is the message that is to be delivered next.
type wanted struct {
	sequence uint64
	exactly  bool // this one; else the first from there on that the filters match
}

// wants says what to read, if anything can be delivered now.
func (m *machine) wants(now time.Time) (wanted, bool) {
	switch {
	case m.config.pausedAt(now), m.pace.holds(now):
		return wanted{}, false
	case m.config.push() && (!m.bound || m.window.full()), !m.config.push() && m.waiting.empty():
		return wanted{}, false
	}
	if e := m.pending.nextAgain(); e != nil {
		return wanted{e.stream, true}, true
	}
	if m.gated() {
		return wanted{}, false
	}
	if len(m.skip) > 0 {
		return wanted{m.skip[0], true}, true
	}
	return wanted{m.next, false}, true
}

// gated says that as much waits for acknowledgement as may. What is delivered again does not count.
func (m *machine) gated() bool {
	return m.config.acks() && m.config.MaxAckPending > 0 && m.pending.len() >= m.config.MaxAckPending
}

// end tells that the stream has nothing more for this consumer up to the sequence last. Requests that do not wait end.
func (m *machine) end(last uint64, now time.Time) {
	if len(m.skip) == 0 && last >= m.next {
		m.next = last + 1
	}
	m.pace.caughtUp(m.next)
	m.endNoWait(now)
}

// missing tells that the stream does not have a message (any more) that was wanted.
func (m *machine) missing(sequence uint64, now time.Time) {
	e := m.pending.get(sequence)
	switch {
	case e != nil:
		m.adviseTerminated(e.place, e.deliveries, "Unacknowledged message was deleted", now)
		m.forget(e)
	case len(m.skip) > 0 && m.skip[0] == sequence:
		m.skipped()
	case len(m.skip) == 0 && sequence >= m.next:
		m.next = sequence + 1
	}
}

// skipped takes the first of the messages to deliver first off their list.
func (m *machine) skipped() {
	m.next = m.skip[0] + 1
	if m.skip = m.skip[1:]; len(m.skip) == 0 {
		m.skip, m.next = nil, max(m.next, m.resume+1)
	}
}

// trimmed tells that the stream begins at first: what was below is gone.
func (m *machine) trimmed(first uint64, now time.Time) {
	for e := m.pending.first(); e != nil && e.stream < first; e = m.pending.first() {
		m.missing(e.stream, now)
	}
	for len(m.skip) > 0 && m.skip[0] < first {
		m.skipped()
	}
	for seq := range m.givenUp {
		if seq < first {
			m.drop(seq)
		}
	}
}

// forget ends a message's being pending, without anything being due for it any more.
func (m *machine) forget(e *entry) {
	m.pending.remove(e)
	if e.stored || m.givenUp[e.stream] {
		m.unsaved[e.stream] = true
	} else {
		delete(m.unsaved, e.stream) // most come and go between two saves
	}
	m.moveFloor()
}

// drop forgets a message that was given up.
func (m *machine) drop(sequence uint64) {
	delete(m.givenUp, sequence)
	m.unsaved[sequence] = true
}

func (m *machine) moveFloor() {
	f := m.delivered
	if e := m.pending.first(); e != nil {
		f = place{e.consumer - 1, e.stream - 1}
	}
	if f.stream < m.floor.stream {
		panic("durable: the ack floor would move back")
	}
	m.floor = place{max(f.consumer, m.floor.consumer), f.stream}
}

// needs says whether the message, which the filters match, is still to be kept in the stream for this consumer.
func (m *machine) needs(sequence uint64) bool {
	switch {
	case m.givenUp[sequence], m.pending.get(sequence) != nil:
		return true
	case len(m.skip) > 0 && sequence > m.skip[0]:
		_, found := slices.BinarySearch(m.skip, sequence)
		return found || sequence > m.resume
	}
	return sequence > m.delivered.stream
}

// reset moves to a sequence and forgets all deliveries.
func (m *machine) reset(s start, now time.Time) {
	for e := m.pending.first(); e != nil; e = m.pending.first() {
		m.pending.remove(e)
	}
	clear(m.givenUp)
	m.begin(s)
	m.last = activity{used: now}
	clear(m.unsaved)
	m.replaced = true
}

// numRedelivered counts the messages that were delivered more than once and are not done with.
func (m *machine) numRedelivered() int {
	if m.config.MaxDeliver == 1 {
		return 0
	}
	n := len(m.givenUp)
	for e := m.pending.first(); e != nil; e = e.next() {
		if e.deliveries > 1 {
			n++
		}
	}
	return n
}

// wait is how long an acknowledgement may take after so many deliveries.
func (m *machine) wait(deliveries uint64) time.Duration {
	if b := m.config.Backoff; len(b) > 0 {
		return b[min(max(deliveries, 1), uint64(len(b)))-1]
	}
	return m.config.AckWait
}
