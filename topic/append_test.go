package topic

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"brokerd/log"
)

// configOf types settings given as name, value, name, value ...
func configOf(t *testing.T, settings ...string) Config {
	t.Helper()
	raw := make(map[string]string)
	for i := 0; i < len(settings); i += 2 {
		raw[settings[i]] = settings[i+1]
	}
	own, err := parseOverrides(raw)
	if err != nil {
		t.Fatal(err)
	}
	c, err := levels{topic: own}.config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAdmit(t *testing.T) {
	now := time.Now().UnixMilli()
	dated := func(ms int64) *log.Record { return &log.Record{Timestamp: ms, Key: []byte("k"), Value: []byte("v")} }
	tests := []struct {
		name     string
		settings []string
		codec    log.Codec
		record   *log.Record
		want     error
	}{
		{"an hour ahead", nil, 0, dated(now + 7_200_000), ErrBadTimestamp},
		{"an hour ahead, compressed", nil, log.Zstd, dated(now + 7_200_000), ErrBadTimestamp},
		{"half an hour ahead", nil, 0, dated(now + 1_800_000), nil},
		{"ahead, allowed", []string{"message.timestamp.after.max.ms", maxLong}, 0, dated(now + 1e12), nil},
		{"ahead, but stamped here", []string{"message.timestamp.type", "LogAppendTime"}, 0, dated(now + 1e12), nil},
		{"long ago", nil, 0, dated(0), nil},
		{"long ago, limited", []string{"message.timestamp.before.max.ms", "1000"}, 0, dated(now - 60_000), ErrBadTimestamp},
		{"long ago, limited, compressed", []string{"message.timestamp.before.max.ms", "1000"}, log.Gzip, dated(now - 60_000), ErrBadTimestamp},
		{"just now, limited", []string{"message.timestamp.before.max.ms", "60000"}, log.LZ4, dated(now), nil},
		{"without a time, limited", []string{"message.timestamp.before.max.ms", "1000"}, 0, dated(-1), nil},
		{"without a key", nil, 0, &log.Record{Timestamp: now}, nil},
		{"without a key, compacted", []string{"cleanup.policy", "compact"}, 0, &log.Record{Timestamp: now}, ErrKeyless},
		{"without a key, compacted, compressed", []string{"cleanup.policy", "compact,delete"}, log.Snappy, &log.Record{Timestamp: now}, ErrKeyless},
		{"an empty key, compacted", []string{"cleanup.policy", "compact"}, 0, &log.Record{Timestamp: now, Key: []byte{}}, nil},
		{"too large", []string{"max.message.bytes", "80"}, 0, &log.Record{Timestamp: now, Value: make([]byte, 80)}, ErrTooLarge},
		{"as large as allowed", []string{"max.message.bytes", "69"}, 0, &log.Record{Timestamp: now}, nil},
		{"one byte too large", []string{"max.message.bytes", "67"}, 0, &log.Record{Timestamp: now}, ErrTooLarge},
		{"too large when unpacked", []string{"max.message.bytes", "200", "compression.type", "uncompressed"}, log.Zstd,
			&log.Record{Timestamp: now, Value: make([]byte, 1000)}, ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := log.Builder{Codec: tt.codec}
			b.Add(*tt.record)
			batch, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			admitted, err := admit(configOf(t, tt.settings...), batch, time.Now())
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if err == nil && &admitted[0] != &batch[0] {
				t.Error("the batch was copied without need")
			}
		})
	}
}

// TestAdmitNamesTheRecords: a producer learns which records of a batch to send again without (KIP-467).
func TestAdmitNamesTheRecords(t *testing.T) {
	now := time.Now().UnixMilli()
	good := log.Record{Timestamp: now, Key: []byte("k")}
	keyless, old := log.Record{Timestamp: now}, log.Record{Key: []byte("k")}
	tests := []struct {
		name    string
		records []log.Record
		bad     []int
		want    error
		text    string
	}{
		{"one", []log.Record{good, keyless}, []int{1}, ErrKeyless, "record 1: "},
		{"several", []log.Record{keyless, good, keyless, good, keyless}, []int{0, 2, 4}, ErrKeyless, "(and 2 more records)"},
		{"two reasons", []log.Record{good, old, keyless}, []int{1, 2}, ErrBadTimestamp, "record 1: "},
		{"very many", slices.Repeat([]log.Record{keyless}, namedRecords+5), upTo(namedRecords), ErrKeyless, "record 0: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := log.Builder{Codec: log.Zstd}
			for _, r := range tt.records {
				b.Add(r)
			}
			batch, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			_, err = admit(configOf(t, "cleanup.policy", "compact", "message.timestamp.before.max.ms", "60000"), batch, time.Now())
			var refused *RecordsError
			if !errors.As(err, &refused) || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("error %v", err)
			}
			var bad []int
			for _, r := range refused.Bad {
				bad = append(bad, r.Index)
			}
			if !slices.Equal(bad, tt.bad) {
				t.Errorf("refused %v, want %v", bad, tt.bad)
			}
		})
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestAdmitBoundsUnpacking offers a batch of zeros that unpacks to more than the limit.
func TestAdmitBoundsUnpacking(t *testing.T) {
	b := log.Builder{Codec: log.Zstd}
	b.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte("k"), Value: make([]byte, unpackLimit)})
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admit(configOf(t), batch, time.Now()); err != nil {
		t.Errorf("a topic that need not look inside: %v", err)
	}
	for _, settings := range [][]string{
		{"cleanup.policy", "compact"}, {"compression.type", "lz4"},
	} {
		if _, err := admit(configOf(t, settings...), batch, time.Now()); !errors.Is(err, log.ErrInflated) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
