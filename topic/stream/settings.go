package stream

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brokerd/topic"
)

// forever is a duration setting that means never.
const forever = "9223372036854775807"

// settings are the topic settings that a stream's configuration stands for. docs/mapping.md has the table.
//
// The stream keeps its limits itself, message by message; retention.ms and retention.bytes only show them, as an empty
// cleanup.policy says. With one message per subject that is compact, for readers that ask whether the log is a table: the
// stream has removed the older messages already, and those without a value stay, as delete.retention.ms says.
func settings(c Config) map[string]string {
	s := map[string]string{
		"cleanup.policy":         "",
		"compression.type":       "producer",
		"delete.retention.ms":    forever,
		"durability":             "sync",
		"max.message.bytes":      strconv.Itoa(largestBatch(c.MaxMsgSize)),
		"message.timestamp.type": "LogAppendTime",
		"retention.bytes":        strconv.FormatInt(max(c.MaxBytes, -1), 10),
		"retention.ms":           millis(c.MaxAge),
	}
	if c.MaxMsgsPer == 1 {
		s["cleanup.policy"] = "compact"
	}
	if c.Compression == S2 {
		s["compression.type"] = "snappy"
	}
	if c.PersistMode == PersistAsync {
		s["durability"] = "async"
	}
	return s
}

// largestBatch is max.message.bytes, which bounds what Kafka producers send at once: Kafka's default, or room for one
// message of the largest size.
func largestBatch(maxMsgSize int32) int {
	const kafkas, overhead = 1048588, 4096
	return max(kafkas, min(int(maxMsgSize)+overhead, math.MaxInt32))
}

// millis is a duration as a setting, rounded up, so that nothing goes earlier than it should.
func millis(d time.Duration) string {
	if d <= 0 {
		return "-1"
	}
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// changes are those of a topic's settings v when its stream's configuration changes from old to c. What Kafka clients set
// otherwise stays, unless it would stand in c's way.
func changes(old, c Config, v values) (list []topic.Change) {
	before, after := settings(old), settings(c)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		tooSmall := name == "max.message.bytes" && v.number(name) < int64(c.MaxMsgSize)
		if before[name] != after[name] || tooSmall {
			list = append(list, topic.Change{Key: name, Op: topic.Set, Value: after[name]})
		}
	}
	return list
}

// values are a topic's effective settings by name.
type values map[string]string

func valuesOf(t *topic.Topic) values {
	v := make(values)
	for _, s := range t.Settings() {
		v[s.Name] = s.Value
	}
	return v
}

// number is a setting that is a whole number.
func (v values) number(name string) int64 {
	n, _ := strconv.ParseInt(v[name], 10, 64)
	return n
}

// age is retention.ms as a stream has it.
func (v values) age() time.Duration {
	ms := v.number("retention.ms")
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0
	}
	return max(time.Duration(ms)*time.Millisecond, shortestAge)
}

// bytes is retention.bytes as a stream has it.
func (v values) bytes() int64 {
	n := v.number("retention.bytes")
	if n == 0 {
		return 1 // nothing is kept, but 0 would be no limit
	}
	return max(n, -1)
}

func (v values) policy(word string) bool {
	return slices.Contains(strings.Split(v["cleanup.policy"], ","), word)
}

// merged is the configuration of a stream whose topic has these settings: where they are not those that c stands for,
// they were changed through Kafka, and c follows.
func merged(c Config, v values) Config {
	was := settings(c)
	changed := func(name string) bool { return v[name] != was[name] }
	if changed("retention.ms") {
		c.MaxAge = v.age()
		if c.MaxAge > 0 {
			c.Duplicates = min(c.Duplicates, c.MaxAge)
		}
	}
	if changed("retention.bytes") {
		c.MaxBytes = v.bytes()
	}
	if compact := v.policy("compact"); compact != (c.MaxMsgsPer == 1) {
		if c.MaxMsgsPer = 1; !compact {
			c.MaxMsgsPer = -1
		}
	}
	if changed("compression.type") {
		c.Compression = compression(v)
	}
	if changed("durability") {
		c.PersistMode = persistMode(v)
	}
	if largest := v.number("max.message.bytes"); int64(c.MaxMsgSize) > largest {
		c.MaxMsgSize = int32(max(largest, 1))
	}
	return c
}

func compression(v values) Compression {
	if v["compression.type"] == "producer" || v["compression.type"] == "uncompressed" {
		return Uncompressed
	}
	return S2
}

func persistMode(v values) PersistMode {
	if v["durability"] == "async" {
		return PersistAsync
	}
	return PersistDefault
}

// derived is the configuration of a stream that is a partition of a topic made through Kafka.
func derived(t *topic.Topic, n int32, v values) Config {
	c := Config{
		Name:         partitionName(t, n),
		Retention:    Limits,
		MaxConsumers: -1,
		MaxMsgs:      -1,
		MaxBytes:     -1,
		MaxMsgsPer:   -1,
		MaxMsgSize:   -1,
		Discard:      DiscardOld,
		Storage:      File,
		Replicas:     1,
		Duplicates:   defaultDuplicate,
		Compression:  compression(v),
		PersistMode:  persistMode(v),
		AllowDirect:  true,
	}
	if largest := v.number("max.message.bytes"); largest > 0 {
		c.MaxMsgSize = int32(min(largest, math.MaxInt32))
	}
	if p := prefix(t); p != "" {
		c.Subjects = []string{p, p + ".>"}
	}
	if t.Memory() {
		c.Storage = Memory
	}
	if v.policy("compact") {
		c.MaxMsgsPer = 1
	}
	if v.policy("delete") {
		c.MaxAge, c.MaxBytes = v.age(), v.bytes()
		if c.MaxAge > 0 {
			c.Duplicates = min(c.Duplicates, c.MaxAge)
		}
	}
	return c
}

// kafkaChanges are those of a topic made through Kafka that give its stream the configuration c. False when no settings do.
func kafkaChanges(old, c Config, v values) ([]topic.Change, bool) {
	want := old
	want.MaxAge, want.MaxBytes, want.Duplicates = c.MaxAge, c.MaxBytes, c.Duplicates
	want.MaxMsgsPer, want.Compression, want.PersistMode = c.MaxMsgsPer, c.Compression, c.PersistMode
	duplicates := defaultDuplicate
	if c.MaxAge > 0 {
		duplicates = min(duplicates, c.MaxAge)
	}
	if string(encode(want)) != string(encode(c)) || c.Duplicates != duplicates || c.MaxMsgsPer != 1 && c.MaxMsgsPer != -1 {
		return nil, false
	}
	list := changes(old, c, v)
	if c.MaxMsgsPer == old.MaxMsgsPer && (c.MaxAge > 0 || c.MaxBytes > 0) == (old.MaxAge > 0 || old.MaxBytes > 0) {
		return list, true
	}
	policy := "delete"
	if c.MaxMsgsPer == 1 {
		policy = "compact"
		if c.MaxAge > 0 || c.MaxBytes > 0 {
			policy = "compact,delete"
		}
	}
	list = slices.DeleteFunc(list, func(x topic.Change) bool { return x.Key == "cleanup.policy" })
	return append(list, topic.Change{Key: "cleanup.policy", Op: topic.Set, Value: policy}), true
}
