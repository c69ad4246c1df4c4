package message

import (
	"bytes"
	"slices"
	"time"

	"brokerd/log"
)

// Message is a stored message as NATS clients see it.
type Message struct {
	Sequence uint64    // offset + 1
	Time     time.Time // in whole milliseconds
	Subject  string
	Header   []byte // the header block, from "NATS/1.0" to the empty line; nil for none
	Data     []byte
}

// Naming says how the keys of a log's records and the subjects of its messages correspond.
type Naming struct {
	// Prefix is the subject under which the keys lie, in a topic made through Kafka: a record without a key has it as its
	// subject, any other one Prefix.KEY. Empty in a stream with subjects of its own, where the key is the whole subject.
	Prefix string
	// KV says that a record without a value is the deletion of a key, and shown as one (KV-Operation: DEL).
	KV bool
}

// Record headers that keep, at the end of a record, what its key, value and headers do not say of a NATS message.
const (
	keptHeader  = "nats.header"  // the header block; null for none
	keptSubject = "nats.subject" // follows it when the key does not give the subject
)

// Record makes the record that stores m; offset and time are m's. It shares m's memory.
//
// Record and Message are inverses, Message(Record(m)) = m and Record(Message(r)) = r for every m and r, because every
// record has a form that NATS can carry (show, undone by read), every message has one that a record can carry (keep, undone
// by kept), and each function uses the first form unless that one is the result of the second. A message that show never
// makes is kept; so is one that show makes of a kept record, and so on: each level is a third longer than the one in it.
func (n Naming) Record(m Message) log.Record {
	r, exact := n.read(m)
	if exact {
		if _, ok := n.kept(r); !ok {
			return r
		}
	}
	return n.keep(r, m)
}

// Message makes the message that r is for NATS clients. It shares r's memory, which is valid as long as r is.
func (n Naming) Message(r log.Record) Message {
	if m, ok := n.kept(r); ok {
		return m
	}
	return n.show(r)
}

// Subject is the subject of r alone: what Message would give it.
func (n Naming) Subject(r log.Record) string {
	if m, ok := n.kept(r); ok {
		return m.Subject
	}
	s, _ := n.subject(r.Key)
	return s
}

// keep adds to r, which is all that could be read of m, what it takes to make m again.
func (n Naming) keep(r log.Record, m Message) log.Record {
	header := log.Header{Key: keptHeader}
	if len(m.Header) > 0 {
		header.Value = m.Header
	}
	r.Headers = append(slices.Clip(r.Headers), header)
	if s, _ := n.subject(r.Key); s != m.Subject {
		r.Headers = append(r.Headers, log.Header{Key: keptSubject, Value: []byte(m.Subject)})
	}
	return r
}

// kept is the message that keep made r of. A record that merely looks like that is none.
func (n Naming) kept(r log.Record) (Message, bool) {
	last := len(r.Headers) - 1
	if last < 0 || r.Headers[last].Key != keptHeader && r.Headers[last].Key != keptSubject {
		return Message{}, false
	}
	m := Message{Sequence: uint64(r.Offset) + 1, Time: time.UnixMilli(r.Timestamp).UTC(), Data: r.Value}
	m.Subject, _ = n.subject(r.Key)
	if r.Headers[last].Key == keptSubject {
		m.Subject = string(r.Headers[last].Value)
		last--
	}
	if last < 0 || r.Headers[last].Key != keptHeader {
		return Message{}, false
	}
	m.Header = r.Headers[last].Value
	return m, same(n.Record(m), r)
}

// same says that two records of one offset and time are equal. Null is not empty.
func same(a, b log.Record) bool {
	equal := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	return equal(a.Key, b.Key) && equal(a.Value, b.Value) &&
		slices.EqualFunc(a.Headers, b.Headers, func(a, b log.Header) bool {
			return a.Key == b.Key && equal(a.Value, b.Value)
		})
}
