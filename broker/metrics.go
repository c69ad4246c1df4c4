package broker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"brokerd/broker/kafka"
	"brokerd/broker/nats"
	"brokerd/consumer"
	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/producer"
	"brokerd/topic"
)

// docs/metrics.md lists every metric; a test compares it with what a broker serves.

func registerAll(r *prometheus.Registry, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// processMetrics are those that hold for any process, and the one that names this binary.
func processMetrics() []prometheus.Collector {
	b := BuildInfo()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "brokerd_build_info",
		Help:        "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	info.Set(1)
	return []prometheus.Collector{
		info,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
}

// syncMetrics observe the group commit.
type syncMetrics struct {
	durations, logs prometheus.Histogram
}

func newSyncMetrics() syncMetrics {
	return syncMetrics{
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "brokerd_sync_seconds",
			Help:    "Time of each sync to disk that acknowledgements waited for.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		logs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "brokerd_sync_logs",
			Help:    "Logs that shared each sync.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
}

func (m syncMetrics) observe(took time.Duration, logs int) {
	m.durations.Observe(took.Seconds())
	m.logs.Observe(float64(logs))
}

// sources are where the metrics are read from.
type sources struct {
	topics *topic.Registry
	groups *consumer.Groups
	server *kafka.Server
	nats   *nats.Server
	budget *producer.Budget
	files  *log.Files
	fs     vfs.FS
	dir    string // the data directory
}

// disk is the room on the file system of the data directory.
func (s sources) disk() (free, total float64) {
	f, t, err := s.fs.Free(s.dir)
	if err != nil {
		return -1, -1
	}
	return float64(f), float64(t)
}

// collector reads the state of the broker when it is asked, so that nothing has to be kept up to date beside it.
type collector struct {
	sources
	perTopic     []metric[*topic.Topic]
	perPartition []metric[*topic.Partition]
	perCompacted []metric[compacted]
	perPosition  []metric[position]
	perRequest   []metric[kafka.RequestStats]
	ofNATS       []metric[nats.Stats]
	whole        []metric[sources]
}

func newCollector(s sources) *collector {
	return &collector{s, topicMetrics(), partitionMetrics(), compactionMetrics(), positionMetrics(), requestMetrics(),
		natsMetrics(), brokerMetrics()}
}

// metric is one value read from a T.
type metric[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(T) float64
}

func (m metric[T]) send(ch chan<- prometheus.Metric, of T, labels ...string) {
	v, err := prometheus.NewConstMetric(m.desc, m.kind, m.read(of), labels...)
	if err != nil {
		v = prometheus.NewInvalidMetric(m.desc, err)
	}
	ch <- v
}

func gauge[T any](name, help string, read func(T) float64, labels ...string) metric[T] {
	return metric[T]{prometheus.NewDesc("brokerd_"+name, help, labels, nil), prometheus.GaugeValue, read}
}

func counter[T any](name, help string, read func(T) float64, labels ...string) metric[T] {
	return metric[T]{prometheus.NewDesc("brokerd_"+name, help, labels, nil), prometheus.CounterValue, read}
}

// Describe implements prometheus.Collector. It sends nothing: what there is to collect depends on the topics.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, m := range c.whole {
		m.send(ch, c.sources)
	}
	stats := c.nats.Stats()
	for _, m := range c.ofNATS {
		m.send(ch, stats)
	}
	for _, r := range c.server.Requests() {
		for _, m := range c.perRequest {
			m.send(ch, r, r.Name)
		}
	}
	for _, t := range c.topics.List() {
		for _, m := range c.perTopic {
			m.send(ch, t, t.Name())
		}
		for _, p := range t.Partitions() {
			for _, m := range c.perPartition {
				m.send(ch, p, t.Name(), strconv.Itoa(int(p.Index())))
			}
			if !t.Config().Compact {
				continue
			}
			state := compacted{p.Dirt(time.Now()), p.Compactions()}
			for _, m := range c.perCompacted {
				m.send(ch, state, t.Name(), strconv.Itoa(int(p.Index())))
			}
		}
	}
	for group, offsets := range c.groups.AllOffsets() {
		label := strings.ToValidUTF8(group, "\ufffd") // a group id may be any bytes, a label may not
		for _, o := range offsets {
			p, ok := c.position(o)
			if !ok {
				continue
			}
			for _, m := range c.perPosition {
				m.send(ch, p, label, o.Topic, strconv.Itoa(int(o.Partition)))
			}
		}
	}
}

// position puts a committed offset beside the watermarks of its partition, if that can be read.
func (c *collector) position(o consumer.Committed) (position, bool) {
	t, ok := c.topics.Get(o.Topic)
	if !ok {
		return position{}, false
	}
	p, err := t.Partition(o.Partition)
	if err != nil {
		return position{}, false
	}
	b, err := p.Bounds()
	if err != nil {
		return position{}, false
	}
	return position{committed: o.Offset.Offset, start: b.Start, durable: b.Durable}, true
}
