package tests

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C03: one bit of stored data has flipped. Exactly the damaged batch is withheld and reported, all others are served.
func TestC03FlippedBit(t *testing.T) {
	const topic, count = "c03", 10_000
	o := options(t)
	s := start(t, o)
	cl := client(t, s, kgo.ProducerBatchMaxBytes(16<<10))
	create(t, cl, topic, 1, settings{"segment.bytes": smallSegment})
	ledger, m := harness.NewLedger(), newMaker(3)
	for range 10 {
		publish(t, cl, ledger, m.records(topic, 0, count/10, 500)...)
	}
	stop(t, s)

	flips := []struct {
		name string
		at   func(b storedBatch) int64
		bit  uint
	}{
		{"body", func(b storedBatch) int64 { return b.position + b.size/2 }, 3},
		{"last-byte", func(b storedBatch) int64 { return b.position + b.size - 1 }, 0},
		{"header-count", func(b storedBatch) int64 { return b.position + posBatchCount + 3 }, 2},
		{"header-magic", func(b storedBatch) int64 { return b.position + posBatchMagic }, 0},
		{"header-base-offset", func(b storedBatch) int64 { return b.position + 6 }, 5},
		{"header-crc", func(b storedBatch) int64 { return b.position + posBatchCRC }, 7},
		{"length-larger", func(b storedBatch) int64 { return b.position + posBatchLength + 1 }, 6},
		{"length-smaller", func(b storedBatch) int64 { return b.position + posBatchLength + 2 }, 5},
		{"length-negative", func(b storedBatch) int64 { return b.position + posBatchLength }, 7},
	}
	for _, f := range flips {
		t.Run(f.name, func(t *testing.T) {
			data := copyTree(t, o.Data)
			_, files := partitionOf(t, data, []byte("0.0 "))
			if len(files) < 4 {
				t.Fatalf("%d segments, want several sealed ones", len(files))
			}
			batches := batchesIn(t, load(t, files[1]))
			damaged := batches[len(batches)/2]
			flip(t, files[1], f.at(damaged), f.bit)

			again := o
			again.Data = data
			s := start(t, again)
			withheld := readAround(t, s, topic, count)
			if len(withheld) == 0 || withheld[0] != damaged.base || last(withheld) != damaged.last {
				t.Errorf("withheld %v, want exactly %d to %d", ends(withheld), damaged.base, damaged.last)
			}
			kgoReadsAround(t, s, ledger, topic, count, damaged)
			afterDamage(t, s, files, count, topic)
		})
	}
}

// readAround reads a partition with plain fetches, steps over offsets that are answered with a corrupt-message error,
// and returns them.
func readAround(t *testing.T, s *harness.Server, topic string, end int64) []int64 {
	t.Helper()
	w := dial(t, s)
	var withheld []int64
	for at := int64(0); at < end; {
		answer := w.fetch(t, 1<<20, from{topic, 0, at, 256 << 10})[0]
		switch kerr.ErrorForCode(answer.ErrorCode) {
		case nil:
			got := batchesIn(t, answer.RecordBatches)
			if len(got) == 0 {
				t.Fatalf("no batch at offset %d, and no error", at)
			}
			if got[0].base > at || got[0].last < at {
				t.Fatalf("the fetch at %d began with the batch %d to %d: a gap without an error", at, got[0].base, got[0].last)
			}
			at = last(got).last + 1
		case kerr.CorruptMessage:
			withheld = append(withheld, at)
			at++
		default:
			t.Fatalf("fetch at %d: %v", at, kerr.ErrorForCode(answer.ErrorCode))
		}
	}
	return withheld
}

// kgoReadsAround reads with franz-go: the damage is an error that the program sees, and after a jump over it the rest
// arrives.
func kgoReadsAround(t *testing.T, s *harness.Server, ledger *harness.Ledger, topic string, end int64, damaged storedBatch) {
	t.Helper()
	ctx := limited(t, 60*time.Second)
	cl := client(t, s, kgo.KeepRetryableFetchErrors(), // else it would ask again and again in silence
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	var read []*kgo.Record
	reported := false
	for len(read) == 0 || last(read).Offset < end-1 {
		fetches := cl.PollFetches(ctx)
		read = append(read, fetches.Records()...)
		fetches.EachError(func(_ string, _ int32, err error) {
			if !errors.Is(err, kerr.CorruptMessage) {
				t.Fatalf("franz-go read up to %d and got: %v", last(read).Offset, err)
			}
			if !reported {
				cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: damaged.last + 1}}})
			}
			reported = true
		})
	}
	if !reported {
		t.Error("franz-go was not told of the damage")
	}
	rest := ledger.Clone()
	rest.Forget(func(p harness.Position) bool { return p.Offset >= damaged.base && p.Offset <= damaged.last })
	report(t, rest.Check(read, faultLimit))
}

// afterDamage checks that no file was deleted, that the damage is counted, and that no offset is used again.
func afterDamage(t *testing.T, s *harness.Server, files []string, end int64, topic string) {
	t.Helper()
	for _, f := range files {
		load(t, f)
	}
	if n := metric(t, s, `corrupt|damaged`); n < 1 {
		t.Errorf("the metrics count %v damaged batches", n)
	}
	more := &kgo.Record{Topic: topic, Value: []byte("after the damage")}
	publish(t, client(t, s), harness.NewLedger(), more)
	if more.Offset != end {
		t.Errorf("the next record got offset %d, want %d", more.Offset, end)
	}
}

// metric adds up the samples of all metrics whose name matches.
func metric(t *testing.T, s *harness.Server, name string) float64 {
	t.Helper()
	var sum float64
	for _, m := range regexp.MustCompile(`(?m)^[a-z_]*(?:`+name+`)[a-z_]*(?:\{[^}]*\})? (\S+)$`).FindAllStringSubmatch(scrape(t, s), -1) {
		var n float64
		if _, err := fmt.Sscan(m[1], &n); err != nil {
			t.Fatalf("metric %s: %v", m[0], err)
		}
		sum += n
	}
	return sum
}

// scrape reads the metrics page.
func scrape(t *testing.T, s *harness.Server) string {
	t.Helper()
	req, err := http.NewRequestWithContext(limited(t, 10*time.Second), http.MethodGet, "http://"+s.HTTP+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: status %d, %v", resp.StatusCode, err)
	}
	return string(page)
}

// ends are the first and the last of some offsets.
func ends(offsets []int64) []int64 {
	if len(offsets) == 0 {
		return nil
	}
	return []int64{offsets[0], last(offsets)}
}
