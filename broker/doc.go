// Package broker puts the parts together: configuration, life cycle, listeners, admin HTTP and metrics.
//
// # Life cycle
//
// Open takes the data directory; Run does the rest. Broker.start and Broker.stop (running.go) are the order of the start
// and of the stop, each to be read from top to bottom.
//
// # Goroutines
//
// Nothing starts a goroutine but Run's group, and what it runs:
//
//	one each        admin HTTP, log.Committer.Run, topic.Registry.Run and Compact, consumer.Groups.Run, stream.Streams.Run,
//	                durable.Consumers.Run, the accept loops of Kafka and NATS
//	their helpers   the committer's sync workers; the store, the alarms and the sweep of the groups; HTTP requests
//	one for each    stream and durable or ephemeral consumer in use
//	two for each    client connection: its reader, which the accept loop starts, and its writer; one more while a NATS
//	                client's requests to JetStream's API are answered
//
// Partitions, groups, members and waiting requests have none. Each part ends when its context does, and is waited for;
// the first part that fails, or ends unasked, stops the whole broker.
//
// # Locks
//
// Locks are taken in this order, and none is held while a sync, a socket, a channel or a timer is waited for:
//
//	consumer: the map of the groups -> a group -> the queue of the store
//	topic:    Partition -> log.Log -> log.Files
//	nats:     the table of subscriptions, its watchers, a connection, what waits for it: last of all, and one at a time
//
// The registry's and the listener's guard their own maps only.
package broker
