package topic

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brokerd/log"
)

// Source says where a setting's value comes from, numbered as in Kafka's DescribeConfigs.
type Source int8

const (
	FromTopic   Source = 1
	FromBroker  Source = 4 // static broker configuration
	FromDefault Source = 5
)

// Setting is one described setting.
type Setting struct {
	Name     string
	Value    string
	Default  string
	Source   Source
	Type     Type
	Doc      string
	Synonyms []Synonym // in the order in which they would apply, the effective one first
}

// Synonym is one level at which a setting has a value.
type Synonym struct {
	Name   string // the broker-wide name of the same setting, such as log.retention.ms
	Value  string
	Source Source
}

// Config holds the effective settings of a topic, typed.
type Config struct {
	Log             log.Config
	SegmentJitter   time.Duration // segment.jitter.ms; each partition takes up to this off Log.SegmentAge
	MaxMessageBytes int32
	LogAppendTime   bool          // message.timestamp.type
	TimestampBefore time.Duration // message.timestamp.before.max.ms; < 0 = any
	TimestampAfter  time.Duration // message.timestamp.after.max.ms; < 0 = any
	Compression     string        // compression.type: "producer", "uncompressed", "gzip", ...
	Compact, Delete bool          // cleanup.policy
	Compaction      Compaction
}

// Compaction holds the settings that matter when Config.Compact is set.
type Compaction struct {
	DirtyRatio      float64       // min.cleanable.dirty.ratio
	MinLag          time.Duration // min.compaction.lag.ms
	MaxLag          time.Duration // max.compaction.lag.ms; < 0 = any
	DeleteRetention time.Duration // delete.retention.ms; < 0 = for ever
}

// Op is what a Change does to a setting, numbered as in Kafka's IncrementalAlterConfigs (KIP-339).
type Op int8

const (
	Set Op = iota
	Unset
	Append
	Subtract
)

// Change is one change of one setting.
type Change struct {
	Key   string
	Op    Op
	Value string
}

// overrides are the settings of one level by name, every value as spec.parse returned it. They are never changed, only
// replaced.
type overrides map[string]string

// parseOverrides checks names and values: ErrBadConfig.
func parseOverrides(raw map[string]string) (overrides, error) {
	parsed := make(overrides, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		s, err := find(name)
		if err != nil {
			return nil, err
		}
		if parsed[name], err = s.parse(raw[name]); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// levels are where a topic's settings come from: its own, then the broker's, then the table's defaults.
type levels struct {
	topic, broker overrides
}

// synonyms are the values of one setting at all levels, the effective one first.
func (l levels) synonyms(s *spec) []Synonym {
	var all []Synonym
	if v, ok := l.topic[s.name]; ok {
		all = append(all, Synonym{Name: s.name, Value: v, Source: FromTopic})
	}
	if v, ok := l.broker[s.name]; ok {
		all = append(all, Synonym{Name: s.brokerName(), Value: v, Source: FromBroker})
	}
	return append(all, Synonym{Name: s.brokerName(), Value: s.value, Source: FromDefault})
}

// describe lists every setting, ordered by name.
func (l levels) describe() []Setting {
	list := make([]Setting, len(specs))
	for i := range specs {
		s := &specs[i]
		synonyms := l.synonyms(s)
		list[i] = Setting{
			Name:     s.name,
			Value:    synonyms[0].Value,
			Default:  s.value,
			Source:   synonyms[0].Source,
			Type:     s.kind,
			Doc:      s.doc,
			Synonyms: synonyms,
		}
	}
	return list
}

// apply makes changes to the topic's own settings, all or none, and returns them: ErrBadConfig.
func (l levels) apply(changes []Change) (overrides, error) {
	next := maps.Clone(l.topic)
	if next == nil {
		next = make(overrides)
	}
	seen := make(map[string]bool, len(changes))
	for _, c := range changes {
		s, err := find(c.Key)
		if err != nil {
			return nil, err
		}
		if seen[c.Key] {
			return nil, fmt.Errorf("%w: %s is changed twice", ErrBadConfig, c.Key)
		}
		seen[c.Key] = true
		value := c.Value
		switch c.Op {
		case Set:
		case Unset:
			delete(next, c.Key)
			continue
		case Append, Subtract:
			if value, err = l.editList(s, c); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%w: %s: unknown operation %d", ErrBadConfig, c.Key, c.Op)
		}
		if next[c.Key], err = s.parse(value); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// editList appends to, or subtracts from, the effective value of a list. What is there already is not added again, and
// what is not there need not be.
func (l levels) editList(s *spec, c Change) (string, error) {
	if s.kind != List {
		return "", fmt.Errorf("%w: %s is no list: nothing can be appended or subtracted", ErrBadConfig, s.name)
	}
	items, err := splitList(strings.TrimSpace(c.Value))
	if err != nil {
		return "", fmt.Errorf("%w: %s = %q: %w", ErrBadConfig, s.name, c.Value, err)
	}
	current, _ := splitList(l.synonyms(s)[0].Value)
	if c.Op == Append {
		return strings.Join(append(current, items...), ","), nil
	}
	left := slices.DeleteFunc(current, func(item string) bool { return slices.Contains(items, item) })
	return strings.Join(left, ","), nil
}

// config computes the typed settings and applies the rules that concern several of them: ErrBadConfig.
func (l levels) config() (Config, error) {
	if l.long("min.compaction.lag.ms") > l.long("max.compaction.lag.ms") {
		return Config{}, fmt.Errorf("%w: min.compaction.lag.ms is larger than max.compaction.lag.ms", ErrBadConfig)
	}
	policy, _ := splitList(l.text("cleanup.policy"))
	c := Config{
		Log: log.Config{
			SegmentBytes:   l.long("segment.bytes"),
			SegmentAge:     max(l.millis("segment.ms"), 0),
			IndexInterval:  int(l.long("index.interval.bytes")),
			RetentionBytes: l.long("retention.bytes"),
			RetentionAge:   l.millis("retention.ms"),
		},
		SegmentJitter:   max(l.millis("segment.jitter.ms"), 0),
		MaxMessageBytes: int32(l.long("max.message.bytes")),
		LogAppendTime:   l.text("message.timestamp.type") == "LogAppendTime",
		TimestampBefore: l.millis("message.timestamp.before.max.ms"),
		TimestampAfter:  l.millis("message.timestamp.after.max.ms"),
		Compression:     l.text("compression.type"),
		Compact:         slices.Contains(policy, "compact"),
		Delete:          slices.Contains(policy, "delete"),
		Compaction: Compaction{
			DirtyRatio:      l.ratio("min.cleanable.dirty.ratio"),
			MinLag:          l.atLeastMillis("min.compaction.lag.ms"),
			MaxLag:          l.millis("max.compaction.lag.ms"),
			DeleteRetention: l.millis("delete.retention.ms"),
		},
	}
	if c.Compact && c.Compaction.MaxLag > 0 { // the active segment is never compacted
		c.Log.SegmentAge = min(cmp.Or(c.Log.SegmentAge, c.Compaction.MaxLag), c.Compaction.MaxLag)
	}
	if !c.Delete {
		c.Log.RetentionBytes, c.Log.RetentionAge = -1, -1
	}
	if l.text("durability") == "async" {
		c.Log.Durability = log.Async
		for _, name := range []string{"flush.messages", "flush.ms"} {
			if l.text(name) != maxLong {
				return Config{}, fmt.Errorf("%w: %s = %q: durability=async syncs at an interval of its own", ErrBadConfig, name, l.text(name))
			}
		}
	}
	return c, nil
}

// text is the effective value of a setting that is in the table.
func (l levels) text(name string) string {
	s, err := find(name)
	if err != nil {
		panic(err)
	}
	return l.synonyms(s)[0].Value
}

// atLeastMillis is millis for a lower limit, which is never reached when it is that far away.
func (l levels) atLeastMillis(name string) time.Duration {
	if d := l.millis(name); d >= 0 {
		return d
	}
	return math.MaxInt64
}

// long is text for whole numbers, which spec.parse has checked.
func (l levels) long(name string) int64 {
	n, _ := strconv.ParseInt(l.text(name), 10, 64)
	return n
}

// ratio is text for numbers, which spec.parse has checked.
func (l levels) ratio(name string) float64 {
	f, _ := strconv.ParseFloat(l.text(name), 64)
	return f
}

// millis is long as a duration; negative for "no limit", which is also what more than 292 years mean.
func (l levels) millis(name string) time.Duration {
	ms := l.long(name)
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}
