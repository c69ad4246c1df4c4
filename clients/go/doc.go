// Package client is for applications that write to and read from brokerd through NATS. It stands on nats.go, whose
// connection it is given, and adds what applications otherwise write themselves:
//
//   - Producer publishes with a bounded number of messages and bytes on their way. Publish blocks when there is no room,
//     and its error says who holds it.
//   - Group shares the messages of a stream with the other members of its group, and acknowledges them one by one or up
//     to one.
//   - Reader replays a stored range: from an offset or a time, to a bound.
//
// A topic made through Kafka is a stream of the same name. Offsets are Kafka's, and a message's sequence is its offset plus
// one.
package client
