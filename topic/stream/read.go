package stream

import (
	"bytes"
	"errors"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
)

// readAhead is how much a cursor reads at once.
const readAhead = 128 << 10

// Get reads one message, which the caller may keep. Errors: *Error 10037 when there is none, and 10051 or 10194 when the log
// cannot be read.
func (s *Stream) Get(sequence uint64) (message.Message, error) {
	c := Cursor{s: s, ahead: 1, only: sequence, last: -1}
	m, err := c.Get(sequence)
	if err != nil {
		return message.Message{}, err
	}
	m.Header, m.Data = bytes.Clone(m.Header), bytes.Clone(m.Data) // rather than hold on to the whole batch
	return m, nil
}

// Last reads the newest message of a subject, which may be a filter. Errors as Get.
func (s *Stream) Last(subject string) (message.Message, error) {
	var last uint64
	err := s.with(func(_ topic.Tail, c *contents) error {
		if m, ok := c.index.subjects.matcher(filters(subject)); ok {
			c.index.subjects.matching(m, func(_ uint32, n *named) { last = max(last, n.last) })
		}
		return nil
	})
	if err != nil {
		return message.Message{}, err
	}
	if last == 0 {
		return message.Message{}, ErrNoMessage
	}
	return s.Get(last)
}

// Cursor reads messages in rising order, each batch of the log once. It is for one goroutine. What it read last is its
// memory: a run of small batches, or one batch.
type Cursor struct {
	s     *Stream
	ahead int64  // bytes to read at once
	only  uint64 // the only sequence that is asked for; 0 for any

	buf     []byte // what was read from the log
	rest    []byte // the batches of it that were not looked at
	records []log.Record
	next    int          // the first record that was not asked for yet
	headers []log.Header // of the records
	last    int64        // offset of the last record of their batch, which may be gone; -1 when there are none
}

// Cursor makes a cursor.
func (s *Stream) Cursor() *Cursor { return &Cursor{s: s, ahead: readAhead, last: -1} }

// Get is Stream.Get; the message is valid until the next call.
func (c *Cursor) Get(sequence uint64) (message.Message, error) {
	var naming message.Naming
	err := c.s.with(func(_ topic.Tail, held *contents) error {
		if _, _, ok := held.index.get(sequence); !ok {
			return ErrNoMessage
		}
		naming = held.naming
		return nil
	})
	if err != nil {
		return message.Message{}, err
	}
	offset := int64(sequence) - 1
	err = c.seek(offset)
	var trimmed *log.RangeError
	if errors.As(err, &trimmed) {
		return message.Message{}, ErrNoMessage // it is gone since
	}
	if err != nil {
		return message.Message{}, explain(err)
	}
	for c.next < len(c.records) && c.records[c.next].Offset < offset {
		c.next++
	}
	if c.next == len(c.records) || c.records[c.next].Offset != offset {
		return message.Message{}, ErrNoMessage
	}
	return naming.Message(c.records[c.next]), nil
}

// seek makes records those of the batch with offset, and next the record with it or an earlier one.
func (c *Cursor) seek(offset int64) error {
	if c.next < len(c.records) && c.records[c.next].Offset <= offset && offset <= c.last {
		return nil
	}
	if offset <= c.last {
		c.reset() // back, or behind the batch's last record
	}
	for len(c.rest) > 0 {
		b, rest, err := log.ParseBatch(c.rest)
		if err != nil {
			return err
		}
		c.rest = rest
		if offset <= b.LastOffset() && offset >= b.BaseOffset() {
			return c.open(b)
		}
		if offset < b.BaseOffset() {
			break
		}
	}
	r, err := c.s.part.Read(offset, c.ahead, topic.ReadCommitted)
	if err != nil {
		return err
	}
	c.reset()
	c.buf, err = r.ReadAll(c.buf)
	r.Close()
	if err != nil {
		return err
	}
	if len(c.buf) == 0 {
		return nil
	}
	b, rest, err := log.ParseBatch(c.buf)
	if err != nil {
		return err
	}
	c.rest = rest
	return c.open(b)
}

// reset forgets what was read.
func (c *Cursor) reset() { c.rest, c.records, c.next, c.last = nil, c.records[:0], 0, -1 }

// open unpacks a batch.
func (c *Cursor) open(b log.Batch) error {
	c.records, c.next, c.headers, c.last = c.records[:0], 0, c.headers[:0], b.LastOffset()
	return b.Each(unpackLimit, func(r log.Record) bool {
		if uint64(r.Offset)+1 < c.only {
			return true
		}
		if n := len(c.headers); len(r.Headers) > 0 {
			c.headers = append(c.headers, r.Headers...)
			r.Headers = c.headers[n:len(c.headers):len(c.headers)]
		}
		c.records = append(c.records, r)
		return c.only == 0
	})
}

// Close lets go of the cursor's memory.
func (c *Cursor) Close() { *c = Cursor{s: c.s, ahead: c.ahead, last: -1} }
