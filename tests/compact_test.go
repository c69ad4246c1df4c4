package tests

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// A compacted topic ends with the newest record of each key at its offset, and without the keys that were deleted: for
// every codec, while it is written to, and through kills at any moment.
func TestCompaction(t *testing.T) {
	const topic, tick, keys, rounds = "state", "tick", 40, 6
	o := options(t, "BROKERD_TOPIC_COMPACTION_CHECK=100ms", "BROKERD_TOPIC_RETENTION_CHECK=100ms", "BROKERD_TOPIC_COMPACTION_MEMORY=64KiB")
	s := start(t, o)
	cl := client(t, s)
	create(t, cl, topic, 1, settings{
		"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "1000",
	})
	random := rand.New(rand.NewPCG(5, 5))
	newest := map[string]*kgo.Record{}
	write := func(r *kgo.Record, codec kgo.CompressionCodec) {
		cl := client(t, s, kgo.ProducerBatchCompression(codec))
		if err := cl.ProduceSync(limited(t, 30*time.Second), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		newest[string(r.Key)] = r
		cl.Close()
	}
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for round := range rounds {
		for i := range 50 {
			r := &kgo.Record{Topic: topic, Key: fmt.Append(nil, "key-", random.IntN(keys))}
			if random.IntN(5) > 0 {
				r.Value = fmt.Append(nil, "value ", round, " ", i)
			}
			write(r, codecs[random.IntN(len(codecs))])
		}
		kill(t, s)
		s = start(t, s.Again())
	}
	var left []*kgo.Record
	compacted := func() bool {
		var err error
		if left, err = harness.ReadAll(limited(t, 30*time.Second), s.Kafka, topic); err != nil {
			t.Fatal(err)
		}
		for _, r := range left {
			if string(r.Key) == tick {
				continue
			}
			if n := newest[string(r.Key)]; n.Offset != r.Offset || r.Value == nil {
				return false
			}
		}
		return true
	}
	eventually(t, 60*time.Second, "only the newest records are left", func() bool {
		write(&kgo.Record{Topic: topic, Key: []byte(tick), Value: []byte(tick)}, kgo.NoCompression()) // gives compaction work
		return compacted()
	})
	found := map[string]*kgo.Record{}
	for _, r := range left {
		found[string(r.Key)] = r
	}
	for key, want := range newest {
		got := found[key]
		if want.Value == nil && got == nil {
			continue
		}
		if got == nil || got.Offset != want.Offset || string(got.Value) != string(want.Value) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	ends, err := kadm.NewClient(client(t, s)).ListEndOffsets(limited(t, 30*time.Second), topic)
	if err != nil {
		t.Fatal(err)
	}
	if end, _ := ends.Lookup(topic, 0); end.Offset < rounds*50 {
		t.Errorf("the end offset is %d: offsets were given out anew", end.Offset)
	}
	stop(t, s)
	if out, err := exec.Command(o.Binary, "log", "verify", o.Data).CombinedOutput(); err != nil {
		t.Errorf("log verify: %v\n%s", err, out)
	}
}

// A record without a key is refused by a compacted topic, and the client is told which one it was.
func TestCompactedTopicRefusesKeylessRecords(t *testing.T) {
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, "c", 1, settings{"cleanup.policy": "compact"})
	err := cl.ProduceSync(limited(t, 30*time.Second), &kgo.Record{Topic: "c", Value: []byte("no key")}).FirstErr()
	if err == nil {
		t.Error("a record without a key was taken")
	}
	ledger := harness.NewLedger()
	publish(t, cl, ledger, &kgo.Record{Topic: "c", Key: []byte("k"), Value: []byte("v")})
	verify(t, s, ledger, "c")
}
