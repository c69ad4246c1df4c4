package tests

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C20: a producer sends more than the topic takes. It is told so, and its connection stays.
func TestC20TooLarge(t *testing.T) {
	const topic = "c20-small"
	s := start(t, options(t))
	cl := client(t, s, kgo.ProducerBatchMaxBytes(32<<20), kgo.BrokerMaxWriteBytes(64<<20),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	create(t, cl, topic, 1, settings{"max.message.bytes": "51200"})
	err := cl.ProduceSync(limited(t, 30*time.Second), newMaker(20).records(topic, 0, 1, 10<<20)...).FirstErr()
	if !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("a record of 10 MiB gave %v, want message too large", err)
	}

	w := dial(t, s)
	for range 3 {
		large := newBatch(0, nil, time.Now().UnixMilli(), make([]byte, 60_000))
		if got := kerr.ErrorForCode(w.produce(t, topic, 0, large).ErrorCode); !errors.Is(got, kerr.MessageTooLarge) {
			t.Errorf("a batch of 60 kB gave %v, want message too large", got)
		}
	}
	small := newBatch(0, nil, time.Now().UnixMilli(), make([]byte, 40_000))
	if got := w.produce(t, topic, 0, small); got.ErrorCode != 0 || got.BaseOffset != 0 {
		t.Errorf("on the same connection a batch of 40 kB gave error %d, offset %d", got.ErrorCode, got.BaseOffset)
	}
}

// C20: a large record lies between small ones, and readers ask for a byte. The first batch comes whole, the others wait
// their turn, and every call makes progress.
func TestC20TinyFetches(t *testing.T) {
	const topic, other = "c20-large", "c20-other"
	s := start(t, options(t))
	cl := client(t, s, kgo.ProducerBatchMaxBytes(16<<20), kgo.BrokerMaxWriteBytes(64<<20))
	create(t, cl, topic, 1, settings{"max.message.bytes": "20971520"})
	create(t, cl, other, 1, nil)
	ledger, m := harness.NewLedger(), newMaker(21)
	for _, size := range []int{10, 5 << 20, 10, 2 << 20, 10} {
		publish(t, cl, ledger, m.records(topic, 0, 1, size)...)
		publish(t, cl, ledger, m.records(other, 0, 1, 10)...)
	}

	w := dial(t, s)
	next := map[string]int64{}
	for calls := 0; next[topic] < 5 || next[other] < 5; calls++ {
		if calls > 10 {
			t.Fatalf("after %d calls the reader is at %v", calls, next)
		}
		order := []from{{topic, 0, next[topic], 1}, {other, 0, next[other], 1}}
		if next[topic] == 5 {
			order = order[1:]
		}
		answers := w.fetch(t, 1, order...)
		if got := batchesIn(t, answers[0].RecordBatches); answers[0].ErrorCode != 0 || len(got) != 1 {
			t.Fatalf("the first partition of the call at %v got error %d and %d batches, want one", next, answers[0].ErrorCode, len(got))
		}
		for i, a := range answers {
			for _, b := range batchesIn(t, a.RecordBatches) {
				next[order[i].topic] = b.last + 1
			}
			if i > 0 && len(a.RecordBatches) > 0 {
				t.Errorf("the answer was full, and the second partition got %d bytes more", len(a.RecordBatches))
			}
		}
	}
	verify(t, s, ledger, topic, other)
}

// C20: a batch is small as it travels and huge when unpacked. The cost for the broker is bounded, on a topic whose
// settings make it unpack batches and on one where only a look-up by time does.
func TestC20HugeWhenUnpacked(t *testing.T) {
	const checked, trusted = "c20-checked", "c20-trusted"
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, checked, 1, settings{"message.timestamp.before.max.ms": "3600000"})
	create(t, cl, trusted, 1, nil)
	ledger := harness.NewLedger()
	publish(t, cl, ledger, newMaker(22).records(checked, 0, 10, 100)...)
	publish(t, cl, ledger, newMaker(22).records(trusted, 0, 10, 100)...)

	now := time.Now()
	bomb := newBatch(1, gzipped(t), now.UnixMilli(), make([]byte, 256<<20))
	before := resident(t, s)
	w := dial(t, s)
	if got := w.produce(t, checked, 0, slices.Clone(bomb)); got.ErrorCode == 0 {
		t.Error("the batch was accepted by the topic that checks the times of records")
	}
	w.produce(t, trusted, 0, slices.Clone(bomb))
	w.listOffset(t, trusted, 0, now.UnixMilli())
	grown := resident(t, s) - before
	t.Logf("a batch of %d kB unpacks to 256 MiB; memory grew by %d MiB", len(bomb)>>10, grown>>20)
	if grown > 250<<20 && !harness.Race { // 64 MiB may be unpacked, into a buffer that doubles
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	after := w.produce(t, checked, 0, newBatch(0, nil, now.UnixMilli(), []byte("small")))
	if after.ErrorCode != 0 || after.BaseOffset != 10 {
		t.Errorf("on the same connection a small batch gave error %d, offset %d", after.ErrorCode, after.BaseOffset)
	}
	ledger.Forget(func(p harness.Position) bool { return p.Topic == trusted })
	verify(t, s, ledger, checked)
}

func gzipped(t *testing.T) func([]byte) []byte {
	return func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := z.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
}

// resident is the memory of the broker that is in use, in bytes.
func resident(t *testing.T, s *harness.Server) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
