// Package nats is the NATS front door: the client protocol, core publish and subscribe, and JetStream's API. It translates;
// streams are in topic/stream, consumers in consumer/durable.
//
//	wire     reads and writes the lines of the protocol
//	route    who listens on which subject
//	nats     connections, logins, and the API, one file per family of requests
//
// A message from a client: conn.read -> conn.publish -> Server.spread, which copies it into the outbound queue of everybody
// who listens, and conn.store, if a stream has its subject. Writers are woken when all bytes of one read are done with.
// A message from a stream: a consumer asks outlet.Room, calls outlet.Send, and goes on when outlet.Watch tells it to.
package nats
