// Package stream is what JetStream adds to a topic: subjects, an index of its messages by subject, limits that hold for
// each message, duplicate ids, conditional publishing and single deletes.
//
// A stream is a topic with one partition. Its configuration is kept with the topic (topic.Spec.Stream), its messages are
// the partition's records (package message), sequence n is offset n-1. A topic made through Kafka is a stream as well, with
// the configuration that follows from its settings; one with several partitions is a stream for each of them.
//
// # Messages
//
// The partition's lock guards everything that a stream knows of its messages (contents). A message that is published is
// checked (conditions.go), gets its sequence and goes into a batch that is being built, all under that lock (publish.go). A
// loop for each stream (run.go) writes the batch, waits for the disk, and answers. Until a message is durable it is in the
// tail: what is published next is checked against it, and readers do not see it. Then it enters the index, limits remove
// what has to go (limits.go), and the log is told: single records are erased at once, what lies before the oldest message is
// trimmed once a second.
//
// The index is in memory: some bytes for each message, in chunks that know which subjects they hold, so that readers skip
// those that do not matter (index.go, index_chunk.go, index_subject.go). It follows the partition (topic.Follower),
// whichever protocol appends, and is made anew from the log when the stream is first used after a start (load.go).
package stream
