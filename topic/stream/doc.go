// Package stream is what JetStream adds to a topic: subjects, an index of its messages by subject, limits that hold for
// each message, duplicate ids, conditional publishing and single deletes.
//
// A stream is a topic with one partition. Its configuration is kept with the topic (topic.Spec.Stream), its messages are
// the partition's records (package message), sequence n is offset n-1. A topic made through Kafka is a stream as well, with
// the configuration that follows from its settings; one with several partitions is a stream for each of them.
//
// The index is in memory. It follows the partition (topic.Follower), whichever protocol appends, and is made anew from the
// log when the stream is first used after a start.
package stream
