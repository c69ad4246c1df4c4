package broker

import (
	"time"

	"brokerd/broker/kafka"
	"brokerd/broker/nats"
	"brokerd/log"
	"brokerd/topic"
)

// What is served: one line is all that a new metric needs, besides its line in docs/metrics.md.

func topicMetrics() []metric[*topic.Topic] {
	return []metric[*topic.Topic]{
		counter("topic_records_in_total", "Records appended.",
			func(t *topic.Topic) float64 { return float64(t.Stats().RecordsIn.Load()) }, "topic"),
		counter("topic_bytes_in_total", "Bytes of record batches appended.",
			func(t *topic.Topic) float64 { return float64(t.Stats().BytesIn.Load()) }, "topic"),
		counter("topic_records_out_total", "Records sent to consumers, by their offsets: those that compaction removed between them count.",
			func(t *topic.Topic) float64 { return float64(t.Stats().RecordsOut.Load()) }, "topic"),
		counter("topic_bytes_out_total", "Bytes of record batches sent to consumers.",
			func(t *topic.Topic) float64 { return float64(t.Stats().BytesOut.Load()) }, "topic"),
	}
}

func partitionMetrics() []metric[*topic.Partition] {
	return []metric[*topic.Partition]{
		gauge("log_start_offset", "Oldest offset that can be read.",
			bound(func(b log.Bounds) int64 { return b.Start }), "topic", "partition"),
		gauge("log_durable_offset", "Below it everything is on disk and may be read.",
			bound(func(b log.Bounds) int64 { return b.Durable }), "topic", "partition"),
		gauge("log_end_offset", "Offset of the next record.",
			bound(func(b log.Bounds) int64 { return b.End }), "topic", "partition"),
		gauge("log_bytes", "Bytes of all batches on disk.",
			func(p *topic.Partition) float64 { return float64(p.Size()) }, "topic", "partition"),
		gauge("log_failed", "1 when the partition takes no records until the broker is started again.", failed,
			"topic", "partition"),
		gauge("log_damaged_ranges", "Damaged ranges found, whose records are withheld.",
			func(p *topic.Partition) float64 { return float64(len(p.Damaged())) }, "topic", "partition"),
		gauge("log_bad_indexes", "Missing, short or wrong indexes that the start found; they are made anew from the records.",
			func(p *topic.Partition) float64 { return float64(p.Recovery().IndexesRebuilt) }, "topic", "partition"),
	}
}

// compacted is a partition of a topic with cleanup.policy=compact.
type compacted struct {
	dirt log.Dirt
	done topic.Compactions
}

func compactionMetrics() []metric[compacted] {
	return []metric[compacted]{
		gauge("compaction_dirty_bytes", "Bytes that compaction has not looked at, the active segment left out.",
			func(c compacted) float64 { return float64(c.dirt.Dirty) }, "topic", "partition"),
		gauge("compaction_dirty_ratio", "Their share of the log, from 0 to 1.",
			func(c compacted) float64 { return c.dirt.Ratio() }, "topic", "partition"),
		gauge("compaction_last_timestamp_seconds", "When the last round that went well began, in seconds since 1970; 0 for none since the start.",
			func(c compacted) float64 { return seconds(c.done.Last) }, "topic", "partition"),
		gauge("compaction_last_duration_seconds", "How long that round took.",
			func(c compacted) float64 { return c.done.Took.Seconds() }, "topic", "partition"),
		counter("compaction_records_removed_total", "Records removed.",
			func(c compacted) float64 { return float64(c.done.Records) }, "topic", "partition"),
		counter("compaction_bytes_reclaimed_total", "Bytes by which compaction made the log smaller.",
			func(c compacted) float64 { return float64(c.done.Bytes) }, "topic", "partition"),
		gauge("compaction_failed", "1 when the last round did not go well; it is tried again.",
			func(c compacted) float64 { return truth(c.done.Err != nil) }, "topic", "partition"),
	}
}

func positionMetrics() []metric[position] {
	return []metric[position]{
		gauge("group_offset", "Offset that the group committed: the next one it will read.",
			func(p position) float64 { return float64(p.committed) }, "group", "topic", "partition"),
		gauge("group_lag", "Records between the group's offset and the newest readable one.",
			func(p position) float64 { return float64(p.lag()) }, "group", "topic", "partition"),
	}
}

func requestMetrics() []metric[kafka.RequestStats] {
	return []metric[kafka.RequestStats]{
		counter("requests_total", "Requests answered.",
			func(r kafka.RequestStats) float64 { return float64(r.Count) }, "request"),
		counter("requests_failed_total", "Requests that ended without an answer.",
			func(r kafka.RequestStats) float64 { return float64(r.Failed) }, "request"),
		counter("request_seconds_total", "Time from the arrival of requests until their answers were sent.",
			func(r kafka.RequestStats) float64 { return r.Time.Seconds() }, "request"),
	}
}

func natsMetrics() []metric[nats.Stats] {
	return []metric[nats.Stats]{
		gauge("nats_connections", "Open NATS connections.", func(s nats.Stats) float64 { return float64(s.Connections) }),
		counter("nats_connections_accepted_total", "NATS connections since the start.",
			func(s nats.Stats) float64 { return float64(s.Accepted) }),
		gauge("nats_subscriptions", "Subscriptions of NATS clients.", func(s nats.Stats) float64 { return float64(s.Subscriptions) }),
		counter("nats_messages_in_total", "Messages from NATS clients.", func(s nats.Stats) float64 { return float64(s.MessagesIn) }),
		counter("nats_bytes_in_total", "Bytes of these messages.", func(s nats.Stats) float64 { return float64(s.BytesIn) }),
		counter("nats_messages_out_total", "Messages to NATS clients.", func(s nats.Stats) float64 { return float64(s.MessagesOut) }),
		counter("nats_bytes_out_total", "Bytes of these messages.", func(s nats.Stats) float64 { return float64(s.BytesOut) }),
		counter("nats_slow_consumers_total", "NATS connections closed because they did not read what was waiting for them.",
			func(s nats.Stats) float64 { return float64(s.SlowConsumers) }),
		gauge("nats_in_flight_bytes", "Bytes of messages on their way into streams, not yet acknowledged.",
			func(s nats.Stats) float64 { return float64(s.BytesInFlight) }),
		gauge("nats_pending_bytes", "Bytes that wait for NATS clients to read them.",
			func(s nats.Stats) float64 { return float64(s.BytesPending) }),
	}
}

func brokerMetrics() []metric[sources] {
	return []metric[sources]{
		gauge("connections", "Open client connections.",
			func(s sources) float64 { return float64(s.server.Stats().Connections.Load()) }),
		counter("connections_accepted_total", "Client connections served since the start.",
			func(s sources) float64 { return float64(s.server.Stats().Accepted.Load()) }),
		counter("connections_refused_total", "Client connections closed because of what was sent on them.",
			func(s sources) float64 { return float64(s.server.Stats().Refused.Load()) }),
		counter("network_bytes_in_total", "Bytes of requests received.",
			func(s sources) float64 { return float64(s.server.Stats().BytesIn.Load()) }),
		counter("network_bytes_out_total", "Bytes of answers sent.",
			func(s sources) float64 { return float64(s.server.Stats().BytesOut.Load()) }),
		gauge("fetch_sessions", "Open fetch sessions.",
			func(s sources) float64 { return float64(s.server.FetchSessions()) }),
		gauge("memory_budget_bytes", "Memory that requests may take together.",
			func(s sources) float64 { return float64(s.budget.Limit()) }),
		gauge("memory_in_use_bytes", "Memory that requests take now.",
			func(s sources) float64 { return float64(s.budget.InUse()) }),
		gauge("memory_waiting", "Connections that wait for memory before they read a request.",
			func(s sources) float64 { return float64(s.budget.Waiting()) }),
		gauge("open_segment_files", "Segment files that are open.",
			func(s sources) float64 { return float64(s.files.Open()) }),
		counter("indexes_rebuilt_total", "Indexes of finished segments that were made anew when they were needed.",
			func(s sources) float64 { return float64(s.files.IndexesRebuilt()) }),
		gauge("disk_free_bytes", "Bytes available to the broker on the file system of the data directory; -1 if unknown.",
			func(s sources) float64 { free, _ := s.disk(); return free }),
		gauge("disk_bytes", "Size of that file system in bytes; -1 if unknown.",
			func(s sources) float64 { _, total := s.disk(); return total }),
	}
}

// bound reads one watermark; a partition whose log cannot be opened has none and shows -1.
func bound(of func(log.Bounds) int64) func(*topic.Partition) float64 {
	return func(p *topic.Partition) float64 {
		b, err := p.Bounds()
		if err != nil {
			return -1
		}
		return float64(of(b))
	}
}

func failed(p *topic.Partition) float64 { return truth(p.Err() != nil) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// seconds since 1970; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// position is where a group stands in a partition.
type position struct {
	committed, start, durable int64
}

// lag counts what is still to be read: records that retention deleted can no longer be.
func (p position) lag() int64 { return max(p.durable-max(p.committed, p.start), 0) }
