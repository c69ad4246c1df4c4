package tests

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C19: a fetch begins in the middle of a batch. The whole batch that holds the offset is sent, so that no record is
// skipped and no reader hangs.
func TestC19PositionInsideBatch(t *testing.T) {
	const topic = "c19"
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, topic, 1, nil)
	record := func(v string) *kgo.Record { return &kgo.Record{Topic: topic, Value: []byte(v)} }
	publishBatch(t, cl, record("a0"), record("a1"))
	publishBatch(t, cl, record("b2"), record("b3"))

	check := func(t *testing.T) {
		for offset, base := range []int64{0, 0, 2, 2} {
			got := dial(t, s).fetch(t, 1<<20, from{topic, 0, int64(offset), 1 << 20})[0]
			batches := batchesIn(t, got.RecordBatches)
			if len(batches) == 0 || batches[0].base != base || last(batches).last != 3 {
				t.Errorf("the fetch at %d gave %v, want the batches from %d to 3", offset, batches, base)
			}
			want := []string{"a0", "a1", "b2", "b3"}[offset:]
			if values := readFrom(t, s, topic, int64(offset), len(want)); !slices.Equal(values, want) {
				t.Errorf("read from %d: %v, want %v", offset, values, want)
			}
		}
		got := dial(t, s).fetch(t, 1<<20, from{topic, 0, 4, 1 << 20})[0]
		if got.ErrorCode != 0 || len(got.RecordBatches) != 0 || got.RecordBatches == nil {
			t.Errorf("the fetch at the end gave error %d and %#v, want empty and not null", got.ErrorCode, got.RecordBatches)
		}
	}
	t.Run("running", check)
	s = restart(t, s)
	t.Run("restarted", check)
	kill(t, s)
	s = start(t, s.Again())
	t.Run("killed", check)
}

// readFrom reads n records of partition 0 with franz-go and returns their values.
func readFrom(t *testing.T, s *harness.Server, topic string, offset int64, n int) []string {
	t.Helper()
	ctx := limited(t, 20*time.Second)
	cl := client(t, s, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}))
	defer cl.Close()
	var values []string
	for len(values) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read from %d: got %v, then %v", offset, values, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}
