// Package durable is JetStream's consumers, the durable and the ephemeral ones: what each was given, what it has
// acknowledged, and what it gets again.
//
// The state machine (machine.go) is pure: it has no clock, does no I/O, and starts nothing. The shell around it reads from
// the stream, sends through the Outlet and saves to the metadata database. What a crash loses of it may only lead to a
// redelivery, never to a skip.
//
// Every durable consumer is a group in the one table of groups (package consumer), with the name STREAM/CONSUMER.
package durable
