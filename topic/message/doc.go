// Package message is one stored message as either protocol sees it: a Kafka record, or a NATS message. docs/mapping.md
// has the rules. Nothing is lost on the way there and back, in either direction, for whatever bytes: see Naming.Record.
//
//	message.go   the two views, and how they are kept each other's inverse
//	key.go       keys and subjects
//	show.go      a record's headers as a NATS header block
//	read.go      a NATS header block as a record's headers
package message
