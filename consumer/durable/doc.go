// Package durable is JetStream's consumers, the durable and the ephemeral ones: what each was given, what it has
// acknowledged, and what it gets again.
//
// # Parts
//
// The state machine (machine.go) is pure: it has no clock, does no I/O, and starts nothing. Events are its methods: a message
// is offered (deliver.go), acknowledged (ack.go), a request comes (pull.go), time passes (tick). What is to be done it leaves
// as effects (effect.go). It decides who gets a message, and when again; flow control (push.go), the rate (pace.go) and
// pinned clients (pin.go) are small machines of their own.
//
// The shell around it is Consumer: one loop for each (run.go) reads from the stream and does what the machine asks for
// (perform.go); clients' requests and acknowledgements step the machine directly. Consumers is the table of all of them;
// create.go, check.go and update.go say what a consumer may be.
//
// Every durable consumer is a group in the one table of groups (package consumer), with the name STREAM/CONSUMER (groups.go).
//
// # Locks
//
// Consumers.mu guards the table, Consumer.mu one consumer. Consumers.mu is taken before Consumer.mu, and never two of the
// latter. A message is sent, and an advisory published, with Consumer.mu held: neither waits. The stream is read without it.
//
// # What survives
//
// A consumer is saved when it is made or changed, before that is answered. Its position and its pending messages (record.go
// draws them) are saved together, at the latest 200 ms after they changed, and before an acknowledgement is answered that
// asks for an answer. What a crash loses may only lead to a redelivery, never to a skip: a delivery that was not saved
// happens again, an acknowledgement that was not saved did not happen. In streams that keep what is not acknowledged, a
// message goes when no consumer needs it any more; what a crash left behind goes when the consumers are loaded.
package durable
