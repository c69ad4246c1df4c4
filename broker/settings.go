package broker

import (
	"path/filepath"
	"strconv"
	"time"

	"brokerd/topic"
)

// kafkaSettings shows the broker's settings under Kafka's names, to tools that describe the broker. They are changed in
// the settings file only.
func kafkaSettings(c Config) []topic.Setting {
	setting := func(name string, t topic.Type, value string) topic.Setting {
		return topic.Setting{Name: name, Value: value, Type: t, Source: topic.FromBroker}
	}
	number := func(name string, t topic.Type, value int64) topic.Setting {
		return setting(name, t, strconv.FormatInt(value, 10))
	}
	millis := func(name string, t topic.Type, d time.Duration) topic.Setting {
		return number(name, t, d.Milliseconds())
	}
	listed := []topic.Setting{
		millis("group.consumer.heartbeat.interval.ms", topic.Int, c.Group.ConsumerHeartbeatInterval),
		millis("group.consumer.session.timeout.ms", topic.Int, c.Group.ConsumerSessionTimeout),
		millis("group.initial.rebalance.delay.ms", topic.Int, c.Group.InitialRebalanceDelay),
		millis("group.max.session.timeout.ms", topic.Int, c.Group.MaxSessionTimeout),
		number("group.max.size", topic.Int, int64(c.Group.MaxMembers)),
		millis("group.min.session.timeout.ms", topic.Int, c.Group.MinSessionTimeout),
		setting("listeners", topic.List, "PLAINTEXT://"+c.Kafka.Listen),
		setting("log.dirs", topic.List, shown(c.Data)),
		millis("log.cleaner.backoff.ms", topic.Long, c.Topic.CompactionCheck),
		number("log.cleaner.dedupe.buffer.size", topic.Long, int64(c.Topic.CompactionMemory)),
		millis("log.retention.check.interval.ms", topic.Long, c.Topic.RetentionCheck),
		number("num.partitions", topic.Int, int64(c.Topic.Partitions)),
		millis("offsets.retention.check.interval.ms", topic.Long, c.Group.OffsetsCheck),
		number("offsets.retention.minutes", topic.Int, int64(c.Group.OffsetsRetention/time.Minute)),
		millis("producer.id.expiration.ms", topic.Int, c.Topic.ProducerIDExpiry),
	}
	if c.Kafka.Advertised != "" {
		listed = append(listed, setting("advertised.listeners", topic.List, "PLAINTEXT://"+c.Kafka.Advertised))
	}
	return listed
}

// shown is a path as it means something to somebody in another directory.
func shown(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
