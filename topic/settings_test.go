package topic

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"brokerd/log"
)

// TestTableIsComplete compares the table with what Kafka 4 answers to DescribeConfigs for a topic, and ours.
func TestTableIsComplete(t *testing.T) {
	want := []struct {
		name   string
		kind   Type
		value  string
		broker string
	}{
		{"cleanup.policy", List, "delete", "log.cleanup.policy"},
		{"compression.gzip.level", Int, "-1", "compression.gzip.level"},
		{"compression.lz4.level", Int, "9", "compression.lz4.level"},
		{"compression.type", String, "producer", "compression.type"},
		{"compression.zstd.level", Int, "3", "compression.zstd.level"},
		{"delete.retention.ms", Long, "86400000", "log.cleaner.delete.retention.ms"},
		{"durability", String, "sync", "log.durability"},
		{"file.delete.delay.ms", Long, "60000", "log.segment.delete.delay.ms"},
		{"flush.messages", Long, "9223372036854775807", "log.flush.interval.messages"},
		{"flush.ms", Long, "9223372036854775807", "log.flush.interval.ms"},
		{"follower.replication.throttled.replicas", List, "", "follower.replication.throttled.replicas"},
		{"index.interval.bytes", Int, "4096", "log.index.interval.bytes"},
		{"leader.replication.throttled.replicas", List, "", "leader.replication.throttled.replicas"},
		{"local.retention.bytes", Long, "-2", "log.local.retention.bytes"},
		{"local.retention.ms", Long, "-2", "log.local.retention.ms"},
		{"max.compaction.lag.ms", Long, "9223372036854775807", "log.cleaner.max.compaction.lag.ms"},
		{"max.message.bytes", Int, "1048588", "message.max.bytes"},
		{"message.timestamp.after.max.ms", Long, "3600000", "log.message.timestamp.after.max.ms"},
		{"message.timestamp.before.max.ms", Long, "9223372036854775807", "log.message.timestamp.before.max.ms"},
		{"message.timestamp.type", String, "CreateTime", "log.message.timestamp.type"},
		{"min.cleanable.dirty.ratio", Double, "0.5", "log.cleaner.min.cleanable.ratio"},
		{"min.compaction.lag.ms", Long, "0", "log.cleaner.min.compaction.lag.ms"},
		{"min.insync.replicas", Int, "1", "min.insync.replicas"},
		{"preallocate", Boolean, "false", "log.preallocate"},
		{"remote.log.copy.disable", Boolean, "false", "remote.log.copy.disable"},
		{"remote.log.delete.on.disable", Boolean, "false", "remote.log.delete.on.disable"},
		{"remote.storage.enable", Boolean, "false", "remote.storage.enable"},
		{"retention.bytes", Long, "-1", "log.retention.bytes"},
		{"retention.ms", Long, "604800000", "log.retention.ms"},
		{"segment.bytes", Int, "1073741824", "log.segment.bytes"},
		{"segment.index.bytes", Int, "10485760", "log.index.size.max.bytes"},
		{"segment.jitter.ms", Long, "0", "log.roll.jitter.ms"},
		{"segment.ms", Long, "604800000", "log.roll.ms"},
		{"unclean.leader.election.enable", Boolean, "false", "unclean.leader.election.enable"},
	}
	if len(specs) != len(want) {
		t.Errorf("%d settings, want %d", len(specs), len(want))
	}
	for i, w := range want[:min(len(want), len(specs))] {
		s := specs[i]
		if s.name != w.name || s.kind != w.kind || s.value != w.value || s.brokerName() != w.broker {
			t.Errorf("row %d is %s, type %d, %q, %s; want %+v", i, s.name, s.kind, s.value, s.brokerName(), w)
		}
		if s.doc == "" || !strings.HasSuffix(s.doc, ".") {
			t.Errorf("%s is not described", s.name)
		}
		if v, err := s.parse(s.value); err != nil || v != s.value {
			t.Errorf("%s: its own default %q becomes %q, %v", s.name, s.value, v, err)
		}
	}
}

func TestDefaultsAreKafkas(t *testing.T) {
	got, err := levels{}.config()
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Log: log.DefaultConfig(), MaxMessageBytes: 1048588, TimestampBefore: -1, TimestampAfter: time.Hour,
		Compression: "producer", Delete: true,
		Compaction: Compaction{DirtyRatio: 0.5, MaxLag: -1, DeleteRetention: 24 * time.Hour},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("config %+v, want %+v", got, want)
	}
}

func TestBadValues(t *testing.T) {
	tests := []struct{ name, value, reason string }{
		{"no.such.setting", "1", `"no.such.setting" is unknown`},
		{"retention.MS", "1", "is unknown"},
		{"cleanup.policy", "erase", "want a list of compact, delete"},
		{"cleanup.policy", "delete,,compact", "an item of the list is empty"},
		{"compression.gzip.level", "0", "want 1 to 9, or -1 for the default"},
		{"compression.gzip.level", "10", "want 1 to 9, or -1 for the default"},
		{"compression.lz4.level", "18", "want 1 to 17"},
		{"compression.type", "brotli", "want one of uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.type", "none", "want one of"},
		{"compression.zstd.level", "23", "want -131072 to 22"},
		{"delete.retention.ms", "-1", "want at least 0"},
		{"durability", "maybe", "want one of sync, async"},
		{"file.delete.delay.ms", "-1", "want at least 0"},
		{"flush.messages", "0", "want at least 1"},
		{"flush.ms", "-1", "want at least 0"},
		{"follower.replication.throttled.replicas", "0", "want * or a list of PARTITION:BROKER"},
		{"index.interval.bytes", "-1", "want at least 0"},
		{"leader.replication.throttled.replicas", "0:1,*", "want * or a list of PARTITION:BROKER"},
		{"local.retention.bytes", "-3", "want at least -2"},
		{"local.retention.ms", "-3", "want at least -2"},
		{"max.compaction.lag.ms", "0", "want at least 1"},
		{"max.message.bytes", "-1", "want at least 0"},
		{"max.message.bytes", "2147483648", "want a whole number of 32 bits"},
		{"message.timestamp.after.max.ms", "-1", "want at least 0"},
		{"message.timestamp.before.max.ms", "-1", "want at least 0"},
		{"message.timestamp.type", "createtime", "want one of CreateTime, LogAppendTime"},
		{"min.cleanable.dirty.ratio", "1.5", "want 0 to 1"},
		{"min.cleanable.dirty.ratio", "NaN", "want a number"},
		{"min.compaction.lag.ms", "-1", "want at least 0"},
		{"min.insync.replicas", "0", "want at least 1"},
		{"preallocate", "yes", "want true or false"},
		{"remote.storage.enable", "TRUE", "this broker has no tiered storage"},
		{"retention.bytes", "1GB", "want a whole number"},
		{"retention.ms", "-2", "want at least -1"},
		{"retention.ms", "", "want a whole number"},
		{"retention.ms", "9223372036854775808", "want a whole number"},
		{"segment.bytes", "1048575", "want at least 1048576"},
		{"segment.index.bytes", "3", "want at least 4"},
		{"segment.jitter.ms", "-1", "want at least 0"},
		{"segment.ms", "0", "want at least 1"},
		{"unclean.leader.election.enable", "1", "want true or false"},
		{"cleanup.policy", strings.Repeat("x", maxSetting+1), "bytes, at most 16384 are allowed"},
	}
	for _, tt := range tests {
		_, err := parseOverrides(map[string]string{tt.name: tt.value})
		if !errors.Is(err, ErrBadConfig) || !strings.Contains(err.Error(), tt.reason) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s = %.40q: %v; want a reason with %q", tt.name, tt.value, err, tt.reason)
		}
	}
}

func TestValuesAreStoredInOneForm(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"retention.ms", " 0060 ", "60"},
		{"preallocate", "TRUE", "true"},
		{"cleanup.policy", "compact, delete,compact", "compact,delete"},
		{"cleanup.policy", "", ""},
		{"min.cleanable.dirty.ratio", "0.10", "0.1"},
		{"leader.replication.throttled.replicas", "*", "*"},
		{"leader.replication.throttled.replicas", "0:1,2:3", "0:1,2:3"},
		{"compression.gzip.level", "9", "9"},
	}
	for _, tt := range tests {
		got, err := parseOverrides(map[string]string{tt.name: tt.value})
		if err != nil || got[tt.name] != tt.want {
			t.Errorf("%s = %q became %q, %v; want %q", tt.name, tt.value, got[tt.name], err, tt.want)
		}
	}
}

func TestTypedSettings(t *testing.T) {
	tests := []struct {
		settings map[string]string
		check    func(c Config) bool
	}{
		{map[string]string{"retention.ms": "-1", "retention.bytes": "5"}, func(c Config) bool {
			return c.Log.RetentionAge == -1 && c.Log.RetentionBytes == 5
		}},
		{map[string]string{"retention.ms": maxLong, "segment.ms": maxLong}, func(c Config) bool {
			return c.Log.RetentionAge == -1 && c.Log.SegmentAge == 0
		}},
		{map[string]string{"retention.ms": "0", "segment.ms": "1", "segment.bytes": "1048576"}, func(c Config) bool {
			return c.Log.RetentionAge == 0 && c.Log.SegmentAge == time.Millisecond && c.Log.SegmentBytes == 1<<20
		}},
		{map[string]string{"cleanup.policy": "compact", "retention.bytes": "5"}, func(c Config) bool {
			return c.Compact && !c.Delete && c.Log.RetentionAge == -1 && c.Log.RetentionBytes == -1
		}},
		{map[string]string{"cleanup.policy": "delete,compact"}, func(c Config) bool {
			return c.Compact && c.Delete && c.Log.RetentionAge == 7*24*time.Hour
		}},
		{map[string]string{
			"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "min.compaction.lag.ms": "1",
			"max.compaction.lag.ms": "2000", "delete.retention.ms": "3",
		}, func(c Config) bool {
			want := Compaction{DirtyRatio: 0.1, MinLag: time.Millisecond, MaxLag: 2 * time.Second, DeleteRetention: 3 * time.Millisecond}
			return c.Compaction == want && c.Log.SegmentAge == 2*time.Second
		}},
		{map[string]string{"cleanup.policy": "compact", "max.compaction.lag.ms": "2000", "segment.ms": maxLong}, func(c Config) bool {
			return c.Log.SegmentAge == 2*time.Second
		}},
		{map[string]string{"max.compaction.lag.ms": "2000"}, func(c Config) bool {
			return c.Log.SegmentAge == 7*24*time.Hour
		}},
		{map[string]string{"min.compaction.lag.ms": maxLong, "delete.retention.ms": maxLong}, func(c Config) bool {
			return c.Compaction.MinLag == math.MaxInt64 && c.Compaction.DeleteRetention < 0
		}},
		{map[string]string{"durability": "async"}, func(c Config) bool { return c.Log.Durability == log.Async }},
		{map[string]string{"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": maxLong}, func(c Config) bool {
			return c.TimestampBefore == time.Second && c.TimestampAfter == -1
		}},
		{map[string]string{"message.timestamp.type": "LogAppendTime"}, func(c Config) bool { return c.LogAppendTime }},
		{map[string]string{"segment.jitter.ms": "7"}, func(c Config) bool { return c.SegmentJitter == 7*time.Millisecond }},
	}
	for _, tt := range tests {
		settings, err := parseOverrides(tt.settings)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := (levels{topic: settings}).config(); err != nil || !tt.check(c) {
			t.Errorf("%v: %+v, %v", tt.settings, c, err)
		}
	}
}

func TestSettingsThatContradictEachOther(t *testing.T) {
	tests := []struct {
		settings map[string]string
		reason   string
	}{
		{map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"}, "min.compaction.lag.ms is larger"},
		{map[string]string{"durability": "async", "flush.ms": "10"}, "flush.ms"},
		{map[string]string{"durability": "async", "flush.messages": "10"}, "flush.messages"},
	}
	for _, tt := range tests {
		settings, err := parseOverrides(tt.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (levels{topic: settings}).config(); !errors.Is(err, ErrBadConfig) || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%v: %v", tt.settings, err)
		}
	}
}

func TestSegmentJitter(t *testing.T) {
	c := Config{Log: log.Config{SegmentAge: time.Second}, SegmentJitter: time.Hour}
	ages := make(map[time.Duration]bool)
	for range 100 {
		age := jittered(c).SegmentAge
		if age < 1 || age > time.Second {
			t.Fatalf("age %v", age)
		}
		ages[age] = true
	}
	if len(ages) < 2 {
		t.Error("every partition has the same age")
	}
	if age := jittered(Config{SegmentJitter: math.MaxInt64}).SegmentAge; age != 0 {
		t.Errorf("a log that never rolls by age got %v", age)
	}
}

func TestSynonyms(t *testing.T) {
	l := levels{topic: overrides{"retention.ms": "1"}, broker: overrides{"retention.ms": "2", "segment.ms": "3"}}
	got := make(map[string]Setting)
	for _, s := range l.describe() {
		got[s.Name] = s
	}
	if len(got) != len(specs) {
		t.Errorf("%d settings are described, want %d", len(got), len(specs))
	}
	tests := []struct {
		name, value string
		source      Source
		synonyms    []Synonym
	}{
		{"retention.ms", "1", FromTopic, []Synonym{
			{"retention.ms", "1", FromTopic}, {"log.retention.ms", "2", FromBroker}, {"log.retention.ms", "604800000", FromDefault},
		}},
		{"segment.ms", "3", FromBroker, []Synonym{{"log.roll.ms", "3", FromBroker}, {"log.roll.ms", "604800000", FromDefault}}},
		{"retention.bytes", "-1", FromDefault, []Synonym{{"log.retention.bytes", "-1", FromDefault}}},
	}
	for _, tt := range tests {
		s := got[tt.name]
		if s.Value != tt.value || s.Source != tt.source || !slices.Equal(s.Synonyms, tt.synonyms) {
			t.Errorf("%+v, want %+v", s, tt)
		}
	}
}

func TestApply(t *testing.T) {
	tests := []struct {
		name    string
		start   overrides
		changes []Change
		want    overrides
		err     string
	}{
		{"set", nil, []Change{{"retention.ms", Set, "5"}}, overrides{"retention.ms": "5"}, ""},
		{"unset", overrides{"retention.ms": "5"}, []Change{{"retention.ms", Unset, ""}}, overrides{}, ""},
		{"unset what is not set", nil, []Change{{"retention.ms", Unset, ""}}, overrides{}, ""},
		{"append to the default", nil, []Change{{"cleanup.policy", Append, "compact"}}, overrides{"cleanup.policy": "delete,compact"}, ""},
		{"append what is there", nil, []Change{{"cleanup.policy", Append, "delete"}}, overrides{"cleanup.policy": "delete"}, ""},
		{"subtract", overrides{"cleanup.policy": "delete,compact"}, []Change{{"cleanup.policy", Subtract, "delete"}}, overrides{"cleanup.policy": "compact"}, ""},
		{"subtract what is not there", nil, []Change{{"cleanup.policy", Subtract, "compact"}}, overrides{"cleanup.policy": "delete"}, ""},
		{"append to no list", nil, []Change{{"retention.ms", Append, "5"}}, nil, "is no list"},
		{"append a bad item", nil, []Change{{"cleanup.policy", Append, "burn"}}, nil, "want a list of"},
		{"subtract an empty item", nil, []Change{{"cleanup.policy", Subtract, ","}}, nil, "an item of the list is empty"},
		{"unknown", nil, []Change{{"a", Unset, ""}}, nil, "is unknown"},
		{"unknown operation", nil, []Change{{"retention.ms", 9, ""}}, nil, "unknown operation 9"},
		{"twice", nil, []Change{{"retention.ms", Set, "5"}, {"retention.ms", Unset, ""}}, nil, "is changed twice"},
		{"all or none", overrides{"retention.ms": "1"}, []Change{{"retention.ms", Set, "2"}, {"segment.ms", Set, "0"}}, nil, "want at least 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := maps.Clone(tt.start)
			got, err := levels{topic: tt.start}.apply(tt.changes)
			if tt.err != "" {
				if !errors.Is(err, ErrBadConfig) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %q", err, tt.err)
				}
			} else if err != nil || !maps.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
			if !maps.Equal(tt.start, before) {
				t.Errorf("the settings it started from became %v", tt.start)
			}
		})
	}
}
