// Package nats is the NATS front door: the client protocol, core publish and subscribe, and JetStream's API. It translates;
// streams are in topic/stream, consumers in consumer/durable.
//
//	wire     reads and writes the lines of the protocol
//	route    who listens on which subject
//	nats     connections, logins, and the API, one file per family of requests
package nats
