package stream

// stored is a message on its way into the index, and what has to happen when it gets there.
type stored struct {
	sequence uint64
	time     int64 // milliseconds
	entry    cell
	expires  int64  // milliseconds; 0 for not by itself
	id       string // Nats-Msg-Id
	rollup   rollup
	due      int64  // when it is published again, in milliseconds; 0 for not at all
	fired    *fired // the schedule that published it; nil for none
	skip     bool   // nobody wants it: it has a sequence, and is not kept
}

// rollup says what goes when a message is stored.
type rollup uint8

const (
	rollupNone rollup = iota
	rollupSubject
	rollupAll
)

// tail is the messages that have a sequence and that readers do not see yet, because they are not durable. Checks of what is
// published count them.
type tail struct {
	list     []stored // by rising sequences
	messages uint64   // of those that are to be kept
	bytes    uint64
}

// push takes a message into the tail.
func (c *contents) push(m stored) {
	c.tail.list = append(c.tail.list, m)
	c.weigh(m, 1)
	s := &c.index.subjects.list[m.entry.subject]
	s.ahead++
	s.head = m.sequence
	if m.id != "" {
		c.ids.add(m.id, m.sequence, m.time)
	}
	c.lastID = m.id
}

// weigh counts a message in, or, with a sign of -1, out.
func (c *contents) weigh(m stored, sign int) {
	if !m.skip {
		c.tail.messages += uint64(sign)
		c.tail.bytes += uint64(sign) * m.entry.bytes()
	}
}

// pop takes the first message out of the tail. Its subject stays as long as something else holds it: see release.
func (c *contents) pop() stored {
	m := c.tail.list[0]
	c.tail.list[0] = stored{}
	if c.tail.list = c.tail.list[1:]; len(c.tail.list) == 0 {
		c.tail.list = nil
	}
	c.weigh(m, -1)
	c.index.subjects.list[m.entry.subject].ahead--
	return m
}

// undo forgets the messages from a sequence on: they were not written.
func (c *contents) undo(from uint64) {
	n := len(c.tail.list)
	for n > 0 && c.tail.list[n-1].sequence >= from {
		n--
	}
	gone := c.tail.list[n:]
	for _, m := range gone {
		c.weigh(m, -1)
		c.ids.remove(m.id, m.sequence)
		id := m.entry.subject
		c.index.subjects.list[id].ahead--
		c.index.subjects.release(id)
	}
	clear(gone)
	c.tail.list = c.tail.list[:n]
	for _, m := range c.tail.list {
		c.index.subjects.list[m.entry.subject].head = m.sequence
	}
	c.lastID = c.settledID
	if n > 0 {
		c.lastID = c.tail.list[n-1].id
	}
}

// pass lets go of a message that nobody wants. What it rolls up goes all the same.
func (c *contents) pass(l limits, m stored) {
	c.gone = append(c.gone, int64(m.sequence)-1)
	if l.rollups && m.rollup == rollupAll {
		c.cut(m.sequence)
	}
	if l.rollups && m.rollup == rollupSubject {
		c.keep(m.entry.subject, 0)
	}
	c.index.subjects.release(m.entry.subject)
}

// settle shows readers everything below the offset stable, and removes what the limits tell to remove.
func (c *contents) settle(l limits, stable int64) {
	for len(c.tail.list) > 0 && c.tail.list[0].sequence <= uint64(stable) {
		m := c.pop()
		c.last, c.settledID = m.sequence, m.id
		if m.skip {
			c.pass(l, m)
			continue
		}
		c.lastTime = m.time
		c.index.add(m.sequence, m.time, m.entry)
		if m.expires != 0 {
			c.expiries.add(m.sequence, m.expires)
		}
		c.enforce(l, m)
		c.schedule(m)
	}
	c.last = max(c.last, uint64(stable))
}
