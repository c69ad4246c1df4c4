package stream

import (
	"errors"
	"fmt"
	"time"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
)

// Publication is a message on its way into a stream. Its header and data are copied before Publish returns.
type Publication struct {
	Subject string
	Header  []byte // the header block; nil for none
	Data    []byte
	Reply   string // where answers go; it says what a message is in a fast batch (IsFast)
	// Flow, if set, is called with answers of a fast batch that are on the way; each is a JSON object. It does not wait.
	Flow func(answer []byte)
	// Done, if set, is called once: when the message is durable and can be read, or with the reason why it never will be.
	// Calls for one stream come in the order of the sequences. It does not wait.
	Done func(Receipt, error)
}

// Receipt is what became of a publication.
type Receipt struct {
	Sequence  uint64
	Duplicate bool   // it was stored before, under Sequence
	Batch     string // atomic batches: the id, and the number of messages, of one that is committed
	Count     int
	Pending   bool   // atomic batches: accepted, nothing is stored yet; acknowledged by an empty message
	Value     string // counters: the new value
	Silent    bool   // fast batches: it is not acknowledged by itself
}

// batchBytes is how much is collected before it is written as a batch, without waiting for the sync that goes on. Whoever
// reads one message unpacks its batch.
const batchBytes = 256 << 10

var errMirrored = errors.New("the stream is a mirror: nothing is published into it")

// Publish checks a message against the configuration, the headers that make it conditional and the limits, in
// nats-server's order, and gives it a sequence; the rest is told to Done. An error, *Error in every case, comes through
// Done as well, before Publish returns. It takes no longer than a write to the file; when more is waiting to be written than
// the stream may hold it fails with code 10167.
func (s *Stream) Publish(p Publication) {
	m := incoming{Publication: p, headers: parseHeaders(p.Header)}
	if IsFast(p.Reply) {
		s.publishFast(&m)
		return
	}
	var now Receipt
	var err error
	if m.headers.batch != "" {
		now, err = s.publishBatch(&m)
	} else {
		err = s.publish(&m)
	}
	if p.Done != nil && (err != nil || now.Pending) {
		p.Done(now, err)
	}
}

// incoming is a publication that is being checked.
type incoming struct {
	Publication
	headers headers
	copied  bool // it comes from another stream, where the conditions were checked, or from the broker itself
	sourced bool // copied from a source: unlike a mirror's, it is renamed, and duplicates and limits count
	time    int64
	staged  *batch // the atomic batch that it belongs to
	value   string // counters: the new value
}

// checked says that limits and duplicates count.
func (m *incoming) checked() bool { return !m.copied || m.sourced }

// publish checks and takes one message. Errors: *Error.
func (s *Stream) publish(m *incoming) error {
	if err := s.prepareCounter(m); err != nil {
		return err
	}
	err := s.with(func(t topic.Tail, c *contents) error { return s.accept(t, c, m) })
	if err == nil {
		s.wake()
	}
	return err
}

// accept gives a message its sequence, if nothing speaks against it. The partition's lock is held.
func (s *Stream) accept(t topic.Tail, c *contents, m *incoming) error {
	conf, l, h := s.config.Load(), s.limits(), &m.headers
	if err := s.acks.room(); err != nil {
		return err
	}
	if tr := s.transform.Load(); tr != nil && m.checked() {
		m.Subject, _ = tr.Apply(m.Subject)
	}
	if err := s.check(t, c, conf, m); err != nil {
		return err
	}
	if h.id != "" && conf.Duplicates > 0 && m.checked() {
		if sequence, ok := c.ids.find(h.id, c.tick(), conf.Duplicates); ok {
			if m.staged != nil {
				return ErrAtomicDuplicate
			}
			return s.acks.add(ack{needs: sequence, receipt: Receipt{Sequence: sequence, Duplicate: true}, done: m.Done})
		}
	}
	if err := checkContent(c, conf, m); err != nil {
		return err
	}
	if err := c.count(conf, m); err != nil {
		return err
	}
	if err := checkTimes(conf, m); err != nil {
		return err
	}
	return s.store(t, c, conf, l, m)
}

// store puts a checked message into the builder and the tail.
func (s *Stream) store(t topic.Tail, c *contents, conf *Config, l limits, m *incoming) error {
	at := m.time
	if at == 0 {
		at = c.tick()
	}
	c.clock = max(c.clock, at)
	sequence := c.head(t) + 1
	record := c.naming.Record(message.Message{
		Sequence: sequence, Time: time.UnixMilli(at), Subject: m.Subject, Header: m.Header, Data: m.Data,
	})
	one := c.measure(m.Subject, record, l)
	one.sequence = sequence
	one.skip = !s.wants(m.Subject)
	if !one.skip && m.checked() {
		if err := c.refuse(conf, l, m.Subject, one.entry.bytes(), one.rollup); err != nil {
			return StoreFailed(err)
		}
	}
	waits := ack{
		needs: sequence, receipt: Receipt{Sequence: sequence, Value: m.value}, done: m.Done,
		size: len(m.Subject) + len(m.Header) + len(m.Data), republish: s.republication(c, conf, m, sequence, at),
	}
	if m.staged != nil {
		m.staged.took(m.Subject, waits)
	} else if err := s.acks.add(waits); err != nil {
		return err
	}
	one.entry.subject = c.index.subjects.intern(m.Subject)
	c.push(one)
	if m.value != "" {
		c.counters.set(one.entry.subject, sequence, m.value, &c.index.subjects)
	}
	c.builder.Add(record)
	if m.staged == nil && c.builder.Size() >= batchBytes {
		s.flush(t)
	}
	return nil
}

// head is the last sequence that was given out. The partition's lock is held.
func (c *contents) head(t topic.Tail) uint64 { return uint64(t.End()) + uint64(c.builder.Len()) }

// flush writes what the builder has as one batch. The partition's lock is held.
func (s *Stream) flush(t topic.Tail) {
	c := s.contents
	if c.builder.Len() == 0 {
		return
	}
	first := uint64(t.End()) + 1
	c.builder.Codec = s.codec()
	b, err := c.builder.Build()
	if err == nil {
		s.follower.own = true
		_, err = t.Append(b)
		s.follower.own = false
	}
	if err != nil {
		c.undo(first)
		s.acks.fail(first, StoreFailed(fmt.Errorf("write: %w", err)))
	}
}

// codec is how batches are packed.
func (s *Stream) codec() log.Codec {
	if s.config.Load().Compression == S2 {
		return log.Snappy // of the same family, and Kafka clients read it
	}
	return log.NoCodec
}
