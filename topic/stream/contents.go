package stream

import (
	"time"

	"brokerd/log"
	"brokerd/topic/message"
)

// contents is what a stream knows of its messages. The partition's lock guards all of it.
type contents struct {
	naming   message.Naming
	overhead int // bytes that a message counts beside its own

	index     index
	tail      tail
	ids       ids
	expiries  expiries
	counters  counters
	schedules schedules
	batches   batches
	builder   log.Builder // what has a sequence and is not in the log yet

	last      uint64  // newest sequence that readers may know of
	lastTime  int64   // of the newest message in the index, since the index was made
	clock     int64   // newest time given out, in milliseconds
	lastID    string  // Nats-Msg-Id of the newest message; "" when it has none
	settledID string  // of the newest message that left the tail
	gone      []int64 // offsets that left the index, and that the log still has
}

func newContents(naming message.Naming, storage Storage) *contents {
	overhead := 30 // what nats-server counts for a message on disk, and in memory
	if storage == Memory {
		overhead = 16
	}
	return &contents{naming: naming, overhead: overhead, index: newIndex()}
}

// measure makes what the index keeps of a record, but for the id of its subject.
func (c *contents) measure(name string, r log.Record, l limits) stored {
	size, header := uint64(len(name)+len(r.Value)+c.overhead), 0
	m := stored{sequence: uint64(r.Offset) + 1, time: r.Timestamp}
	var flags uint32
	var p plans
	for _, h := range r.Headers {
		header += len(h.Key) + len(h.Value) + 4
		switch h.Key {
		case headerID:
			m.id = string(h.Value)
		case headerTTL:
			ttl, ok := parseTTL(string(h.Value))
			switch {
			case !l.times || !ok || ttl == 0:
			case ttl == ttlNever:
				flags |= flagTTL | flagNever
			default:
				flags |= flagTTL
				m.expires = r.Timestamp + ttl.Milliseconds()
			}
		case headerRollup:
			m.rollup, _ = parseRollup(string(h.Value))
		case headerMarker:
			flags |= flagMarker
		case headerOperation:
			if string(h.Value) == "PURGE" {
				flags |= flagMarker
			}
		default:
			if l.schedules {
				p.header(h)
			}
		}
	}
	p.apply(&m)
	if header > 0 {
		size += uint64(header) + 12
		if c.overhead > 16 {
			size += 4
		}
	}
	m.entry.size = uint32(min(size, sizeMask)) | flags
	return m
}

// tick is the time of a new message: now, but never before that of an older one.
func (c *contents) tick() int64 {
	c.clock = max(c.clock, time.Now().UnixMilli())
	return c.clock
}

// trimmed forgets everything below offset start.
func (c *contents) trimmed(start int64) {
	below := uint64(start) + 1
	for len(c.tail.list) > 0 && c.tail.list[0].sequence < below {
		m := c.pop()
		c.last, c.settledID = m.sequence, m.id
		c.index.subjects.release(m.entry.subject)
	}
	if newest := c.newest(); newest != 0 && newest < below && c.index.messages > 0 {
		c.clear()
	}
	for {
		first, e, _ := c.index.first()
		if first == 0 || first >= below {
			break
		}
		c.forget(first, e)
	}
	c.last = max(c.last, uint64(start))
}

// newest is the last message in the index; 0 when it is empty.
func (c *contents) newest() uint64 {
	n := len(c.index.chunks)
	if n == 0 {
		return 0
	}
	last := c.index.chunks[n-1]
	return last.sequence(len(last.entries) - 1) // it may be gone: then the true one is older
}

// clear empties the index at once. What the tail holds stays.
func (c *contents) clear() {
	old := c.index.subjects
	c.index = newIndex()
	for i, m := range c.tail.list {
		name := old.list[m.entry.subject].name
		id := c.index.subjects.intern(name)
		c.tail.list[i].entry.subject = id
		s := &c.index.subjects.list[id]
		s.ahead++
		s.head = m.sequence
	}
	c.expiries = expiries{}
	c.counters = counters{}
	c.schedules = schedules{}
}
