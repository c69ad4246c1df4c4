package stream

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What Kafka clients may set of that which a stream's configuration stands for.
func drawValues(t *rapid.T) values {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	return values{
		"cleanup.policy":         pick("cleanup.policy", "", "delete", "compact", "compact,delete"),
		"compression.type":       pick("compression.type", "producer", "uncompressed", "snappy", "zstd"),
		"delete.retention.ms":    pick("delete.retention.ms", "1", forever),
		"durability":             pick("durability", "sync", "async"),
		"max.message.bytes":      pick("max.message.bytes", "1000", "1048588", "99999999"),
		"message.timestamp.type": pick("message.timestamp.type", "CreateTime", "LogAppendTime"),
		"retention.bytes":        pick("retention.bytes", "-1", "0", "5000"),
		"retention.ms":           pick("retention.ms", "-1", "0", "50", "5000", forever),
	}
}

func drawStored(t *rapid.T) Config {
	c := Config{
		Name:       "S",
		MaxAge:     rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, 5*time.Second + 1}).Draw(t, "max_age"),
		MaxBytes:   rapid.SampledFrom([]int64{0, 5000, 7000}).Draw(t, "max_bytes"),
		MaxMsgsPer: rapid.SampledFrom([]int64{0, 1, 5}).Draw(t, "max_msgs_per_subject"),
		MaxMsgSize: rapid.SampledFrom([]int32{0, 500, 5 << 20}).Draw(t, "max_msg_size"),
	}
	c.Compression = rapid.SampledFrom([]Compression{Uncompressed, S2}).Draw(t, "compression")
	c.PersistMode = rapid.SampledFrom([]PersistMode{PersistDefault, PersistAsync}).Draw(t, "persist_mode")
	done, err := ledger{}.book("S").check(c, false)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// A new stream's settings say nothing else than its configuration; what Kafka clients change is there once, is a
// configuration that can be sent back, and an update through JetStream has the last word.
func TestMergedSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		same := func(what string, got, want Config) {
			t.Helper()
			if !bytes.Equal(encode(got), encode(want)) {
				t.Fatalf("%s:\n%s\nwant\n%s", what, encode(got), encode(want))
			}
		}
		stored := drawStored(t)
		same("nothing changed", merged(stored, settings(stored)), stored)

		v := drawValues(t)
		now := merged(stored, v)
		same("merged again", merged(now, v), now)
		if _, err := (ledger{}).book("S").check(now, true); err != nil {
			t.Fatalf("%s cannot be sent back: %v", encode(now), err)
		}

		next := drawStored(t)
		for _, c := range changes(now, next, v) {
			v[c.Key] = c.Value
		}
		same("updated", merged(next, v), next)
	})
}
