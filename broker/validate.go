package broker

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// problems checks values one by one and against each other, and returns what is wrong by key.
func (c Config) problems() map[string]string {
	p := problemSet{}
	p.require(c.Data != "", "data", "must name a directory")
	p.address("kafka/listen", c.Kafka.Listen)
	if c.Kafka.Advertised != "" {
		p.advertised("kafka/advertised", c.Kafka.Advertised)
	}
	p.address("nats/listen", c.NATS.Listen)
	p.address("http/listen", c.HTTP.Listen)
	p.oneOf("log/level", c.Log.Level, "trace", "debug", "info", "warn", "error")
	p.oneOf("log/format", c.Log.Format, "auto", "console", "json")

	p.between("kafka/max_request", int64(c.Kafka.MaxRequest), 64<<10, 1<<30)
	p.between("kafka/in_flight", int64(c.Kafka.InFlight), 64<<10, 1<<30)
	p.within("kafka/idle", c.Kafka.Idle, time.Second, 24*time.Hour)
	p.nats(c.NATS)
	p.require(c.Memory.Budget >= c.Kafka.MaxRequest, "memory/budget",
		"must be at least kafka.max_request (%d bytes), or the largest request could never be read", c.Kafka.MaxRequest)
	p.between("limits/connections", int64(c.Limits.Connections), 0, 1<<20)
	p.between("limits/segment_files", int64(c.Limits.SegmentFiles), 0, 1<<20)

	p.between("commit/workers", int64(c.Commit.Workers), 1, 256)
	p.between("commit/syncfs_from", int64(c.Commit.SyncFSFrom), 1, 1<<20)
	p.within("commit/async_interval", c.Commit.AsyncInterval, time.Millisecond, time.Hour)

	p.between("topic/partitions", int64(c.Topic.Partitions), 1, 10_000)
	p.within("topic/retention_check", c.Topic.RetentionCheck, 100*time.Millisecond, 24*time.Hour)
	p.within("topic/compaction_check", c.Topic.CompactionCheck, 100*time.Millisecond, 24*time.Hour)
	p.between("topic/compaction_memory", int64(c.Topic.CompactionMemory), 64<<10, 64<<30)
	p.between("topic/memory_limit", int64(c.Topic.MemoryLimit), 1<<20, 1<<40)
	p.within("topic/producer_id_expiry", c.Topic.ProducerIDExpiry, time.Second, 365*24*time.Hour)

	p.within("group/initial_rebalance_delay", c.Group.InitialRebalanceDelay, 0, 10*time.Minute)
	p.within("group/min_session_timeout", c.Group.MinSessionTimeout, time.Millisecond, time.Hour)
	p.within("group/max_session_timeout", c.Group.MaxSessionTimeout, time.Millisecond, 24*time.Hour)
	p.require(c.Group.MinSessionTimeout <= c.Group.MaxSessionTimeout, "group/min_session_timeout",
		"must not be above group.max_session_timeout (%v)", c.Group.MaxSessionTimeout)
	p.within("group/consumer_heartbeat_interval", c.Group.ConsumerHeartbeatInterval, time.Millisecond, time.Hour)
	p.within("group/consumer_session_timeout", c.Group.ConsumerSessionTimeout, time.Millisecond, 24*time.Hour)
	p.require(c.Group.ConsumerSessionTimeout > c.Group.ConsumerHeartbeatInterval, "group/consumer_session_timeout",
		"must be above group.consumer_heartbeat_interval (%v)", c.Group.ConsumerHeartbeatInterval)
	p.between("group/max_members", int64(c.Group.MaxMembers), 1, 1_000_000)
	p.within("group/offsets_retention", c.Group.OffsetsRetention, time.Second, 10*365*24*time.Hour)
	p.within("group/offsets_check", c.Group.OffsetsCheck, 100*time.Millisecond, 24*time.Hour)
	p.within("shutdown/drain", c.Shutdown.Drain, 100*time.Millisecond, time.Hour)
	return p
}

// problemSet keeps the first problem of each setting.
type problemSet map[string]string

func (p problemSet) require(ok bool, key, format string, args ...any) {
	if _, known := p[key]; !ok && !known {
		p[key] = fmt.Sprintf(format, args...)
	}
}

func (p problemSet) between(key string, n, low, high int64) {
	p.require(low <= n && n <= high, key, "%d is not between %d and %d", n, low, high)
}

func (p problemSet) within(key string, d, low, high time.Duration) {
	p.require(low <= d && d <= high, key, "%v is not between %v and %v", d, low, high)
}

func (p problemSet) oneOf(key, value string, allowed ...string) {
	p.require(slices.Contains(allowed, value), key, "%q is none of %q", value, allowed)
}

// address checks host:port of a listener. An empty host listens on all addresses.
func (p problemSet) address(key, value string) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	p.require(err == nil, key, "%q is not host:port with a port from 0 to 65535", value)
}

// advertised checks host:port of a listener as clients are to dial it.
func (p problemSet) advertised(key, value string) {
	host, port, err := net.SplitHostPort(value)
	n, numErr := strconv.ParseUint(port, 10, 16)
	p.require(err == nil && numErr == nil && host != "" && n > 0, key,
		"%q is not host:port that a client can connect to", value)
}
