// Package message is one stored message as either protocol sees it: a Kafka record, or a NATS message. docs/mapping.md
// has the rules; nothing is lost on the way there and back.
package message

import (
	"time"

	"brokerd/log"
)

// Message is a stored message as NATS clients see it.
type Message struct {
	Sequence uint64 // offset + 1
	Time     time.Time
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

// Record makes the record that stores m; offset and time are m's. It shares m's memory.
func (n Naming) Record(m Message) log.Record { panic("message: Record") }

// Message makes the message that r is for NATS clients. It shares r's memory, which is valid as long as r is.
func (n Naming) Message(r log.Record) Message { panic("message: Message") }

// Subject is the subject of r alone: what Message would give it.
func (n Naming) Subject(r log.Record) string { panic("message: Subject") }
