// Package harness runs the broker's binary as a child process, as its users do, and keeps a ledger of what it
// acknowledged. It knows the command line and the Kafka protocol, and nothing of the broker's code.
package harness
