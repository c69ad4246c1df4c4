package tests

import (
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

const smallSegment = "1048576" // the smallest segment.bytes that Kafka 4 takes (KIP-1030)

// C01: after a crash, index and segment reached the disk in any state. The index is derived data: nothing that was
// acknowledged is lost with it, and no offset is given out twice.
func TestC01IndexAndSegmentDisagree(t *testing.T) {
	topics := []string{"c01-a", "c01-b", "c01-c", "c01-d", "c01-e"}
	crashed, ledger, ends := crashedData(t, topics)

	damages := []struct {
		name string
		lost bool // the last batch of the damaged partition may be gone
		do   func(t *testing.T, files []string)
	}{
		{"a/cut-last-segment", true, cutLastBatch},
		{"b/index-deleted", false, func(t *testing.T, files []string) { remove(t, sibling(last(files), ".index")) }},
		{"b/sealed-index-deleted", false, func(t *testing.T, files []string) { remove(t, sibling(files[0], ".index")) }},
		{"c/index-empty", false, func(t *testing.T, files []string) { store(t, sibling(last(files), ".index"), nil) }},
		{"c/sealed-index-empty", false, func(t *testing.T, files []string) { store(t, sibling(files[0], ".index"), nil) }},
		{"d/index-without-segment", false, func(t *testing.T, files []string) {
			orphan := sibling(files[0], "")
			orphan = orphan[:len(orphan)-20] + "00000000000000999999"
			store(t, orphan+".index", make([]byte, 64))
			store(t, orphan+".timeindex", make([]byte, 96))
		}},
		{"e/segments-without-index", false, func(t *testing.T, files []string) {
			for _, f := range files {
				remove(t, sibling(f, ".index"))
				remove(t, sibling(f, ".timeindex"))
			}
		}},
		{"f/index-past-the-end", false, func(t *testing.T, files []string) { pointPastEnd(t, last(files)) }},
		{"f/sealed-index-past-the-end", false, func(t *testing.T, files []string) { pointPastEnd(t, files[0]) }},
	}
	for _, d := range damages {
		t.Run(strings.ReplaceAll(d.name, "/", "-"), func(t *testing.T) {
			data := copyTree(t, crashed)
			dir, files := partitionOf(t, data, []byte(topics[2]+"-marker"))
			t.Logf("damaged: %s, %d segments", dir, len(files))
			if len(files) < 3 {
				t.Fatalf("%d segments, want several", len(files))
			}
			lastBatch := last(batchesIn(t, load(t, last(files))))
			d.do(t, files)

			s := start(t, harness.Options{Binary: os.Getenv(binaryEnv), Data: data})
			expected := ledger.Clone()
			if d.lost {
				publish(t, client(t, s), harness.NewLedger(), newMaker(3).records(topics[2], 0, 1, 100)...) // after the gap
				expected.Forget(func(p harness.Position) bool { return p.Topic == topics[2] && p.Offset >= lastBatch.base })
			}
			rereadAndGrow(t, s, expected, topics, ends)
		})
	}
}

// crashedData fills topics, kills the broker and returns what it left, with the end offset of each topic.
func crashedData(t *testing.T, topics []string) (data string, ledger *harness.Ledger, ends map[string]int64) {
	t.Helper()
	o := options(t)
	s := start(t, o)
	cl := client(t, s, kgo.ProducerBatchMaxBytes(64<<10))
	ledger, ends = harness.NewLedger(), map[string]int64{}
	m := newMaker(1)
	for _, topic := range topics {
		create(t, cl, topic, 1, settings{"segment.bytes": smallSegment})
		publish(t, cl, ledger, &kgo.Record{Topic: topic, Value: []byte(topic + "-marker")})
		for range 4 {
			publish(t, cl, ledger, m.records(topic, 0, 1000, 1000)...)
		}
		ends[topic] = 4001
	}
	kill(t, s)
	return o.Data, ledger, ends
}

// rereadAndGrow reads everything, produces 100 more per topic, restarts and reads again.
func rereadAndGrow(t *testing.T, s *harness.Server, before *harness.Ledger, topics []string, ends map[string]int64) {
	t.Helper()
	verify(t, s, before, topics...)
	cl := client(t, s)
	ledger := harness.NewLedger()
	m := newMaker(2)
	for _, topic := range topics {
		added := m.records(topic, 0, 100, 100)
		publish(t, cl, ledger, added...)
		if added[0].Offset < ends[topic] {
			t.Errorf("%s: offset %d was given out again, the end was %d", topic, added[0].Offset, ends[topic])
		}
	}
	s = restart(t, s)
	verify(t, s, ledger, topics...)
	verify(t, s, before, topics...)
}

// cutLastBatch cuts 37 bytes off the data of the last segment.
func cutLastBatch(t *testing.T, files []string) {
	t.Helper()
	b := last(batchesIn(t, load(t, last(files))))
	if err := os.Truncate(last(files), b.position+b.size-37); err != nil {
		t.Fatal(err)
	}
}

// pointPastEnd appends an entry to a segment's index that points far past the end of the segment.
func pointPastEnd(t *testing.T, segment string) {
	t.Helper()
	f, err := os.OpenFile(sibling(segment, ".index"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte{0, 0, 0x7f, 0xff, 0x3f, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func last[T any](all []T) T { return all[len(all)-1] }
