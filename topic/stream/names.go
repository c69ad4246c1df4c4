package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"brokerd/topic"
	"brokerd/topic/message"
)

const (
	// escaped begins the name of a topic whose stream has a name that no topic can have.
	escaped = "stream--"
	// maxTopicName is the longest name of a topic in bytes.
	maxTopicName = 249
)

// topicName is the name of the topic that a stream with this name is: the same, if a topic can have it. Otherwise, after
// "stream--", each byte that stands in no topic's name, and "-", is "-" and two digits; what becomes too long by that
// ends in a hash instead. Different streams have different topics.
func topicName(name string) string {
	if plain(name) && len(name) <= maxTopicName && !strings.HasPrefix(name, escaped) {
		return name
	}
	b := []byte(escaped)
	for i := range len(name) {
		if c := name[i]; c != '-' && topicByte(c) {
			b = append(b, c)
		} else {
			b = append(b, '-')
			b = append(b, strings.ToUpper(hex.EncodeToString([]byte{c}))...)
		}
	}
	if len(b) > maxTopicName {
		sum := sha256.Sum256([]byte(name))
		tail := "--" + hex.EncodeToString(sum[:])
		b = append(b[:maxTopicName-len(tail)], tail...)
	}
	return string(b)
}

// plain says that every byte of a name can stand in the name of a topic.
func plain(name string) bool {
	for i := range len(name) {
		if !topicByte(name[i]) {
			return false
		}
	}
	return true
}

func topicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// partitionName is the name of the stream that partition n of a topic made through Kafka is.
func partitionName(t *topic.Topic, n int32) string {
	name := strings.ReplaceAll(t.Name(), ".", "_")
	if len(t.Partitions()) > 1 {
		name += "-" + strconv.Itoa(int(n))
	}
	return name
}

// prefix is the subject under which the keys of a topic made through Kafka lie. Empty for a topic that gets nothing from
// NATS clients, because they wait for answers there.
func prefix(t *topic.Topic) string {
	p := message.ForTopic(t.Name()).Prefix
	if first, _, _ := strings.Cut(p, "."); first == "_INBOX" {
		return ""
	}
	return p
}
