// Package wire reads what NATS clients send, and forms what they are sent. It knows the lines of the protocol and nothing
// of their meaning: docs.nats.io, "NATS Protocol", with nats-server's answers to what is malformed.
//
//	reader.go   commands from a stream of bytes, however it is cut
//	parse.go    the arguments of one line
//	format.go   lines to clients
package wire
