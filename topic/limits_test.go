package topic

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"brokerd/log"
)

// limited is a follower that refuses what is above a limit, as a stream that discards the new does.
type limited struct{ left int32 }

var errOverLimit = errors.New("over the limit")

func (l *limited) Admit(_ Tail, b log.Batch) error {
	if b.Count() > l.left {
		return errOverLimit
	}
	return nil
}

func (l *limited) Appended(b log.Batch) { l.left -= b.Count() }
func (l *limited) Trimmed(int64)        {}
func (l *limited) Removed(int64)        {}

// TestAcknowledgedIsStoredAtALimit has producers that send ten times too much: each record that is acknowledged is there, also
// after a crash, each one that is refused is not, and the refusal says why.
func TestAcknowledgedIsStoredAtALimit(t *testing.T) {
	tests := []struct {
		name   string
		memory bool
		refuse error
	}{
		{"the follower's", false, errOverLimit},
		{"the memory's", true, log.ErrNoSpace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.memory, _ = newMemory(2<<20, "data")
			if _, err := w.Create(Spec{Name: "a", Partitions: 1, Memory: tt.memory}); err != nil {
				t.Fatal(err)
			}
			p := w.partition("a", 0)
			if !tt.memory {
				if err := p.Follow(&limited{left: 100}, func(Tail) {}); err != nil {
					t.Fatal(err)
				}
			}
			acked := flood(t, p, tt.refuse)
			if len(acked) == 0 || len(acked) >= 1000 {
				t.Fatalf("%d of 1000 records were acknowledged", len(acked))
			}
			stored := func(when string) {
				t.Helper()
				if got := w.records(w.partition("a", 0), 0); !slices.Equal(slices.Sorted(slices.Values(got)), acked) {
					t.Errorf("%s: %d records are there, %d were acknowledged", when, len(got), len(acked))
				}
			}
			stored("at the limit")
			if !tt.memory {
				w.crash(rand.New(rand.NewPCG(1, 2)))
				w.open()
				stored("after a crash")
				return
			}
			if err := p.Discard(p.log.Bounds().End); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Append(batchOf(t, strings.Repeat("x", 10_000))); err != nil {
				t.Errorf("there is room again: %v", err)
			}
		})
	}
}

// flood sends a thousand records of 10 kB, and returns those that were acknowledged as "OFFSET VALUE", sorted.
func flood(t *testing.T, p *Partition, refusal error) []string {
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		acked   []string
		refused atomic.Int64
	)
	for producer := range 10 {
		group.Go(func() {
			for i := range 100 {
				value := fmt.Sprint(producer, "-", i, strings.Repeat("x", 5_000)) // it is the key as well
				at, err := p.Append(batchOf(t, value))
				if errors.Is(err, refusal) {
					refused.Add(1)
					continue
				}
				if err == nil {
					err = p.WaitDurable(context.Background(), at.Last)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked = append(acked, fmt.Sprintf("%d %s", at.Base, value))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if n := refused.Load() + int64(len(acked)); n != 1000 {
		t.Errorf("%d answers", n)
	}
	slices.Sort(acked)
	return acked
}

// TestLargeRecordsOfManyKeys has records of nearly a megabyte, of which each fills a batch, and loses every index: each
// record still has its own key and value, wherever the reading begins, and after some of them were erased and compacted.
func TestLargeRecordsOfManyKeys(t *testing.T) {
	const records, size = 40, 1_000_000
	w := newWorld(t)
	w.create("a", 1, "segment.bytes", "5000000", "max.message.bytes", "2000000", "min.cleanable.dirty.ratio", "0.1")
	p := w.partition("a", 0)
	for i := range int64(records) {
		var b log.Builder
		b.Add(log.Record{Timestamp: 1000 + i, Key: fmt.Appendf(nil, "subject.%d", i), Value: largeValue(i, size)})
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		w.produce(p, batch)
	}
	erased := map[int64]bool{}
	check := func(when string) {
		t.Helper()
		p := w.partition("a", 0)
		for offset := range int64(records) {
			r, err := p.Read(offset, 1, ReadCommitted)
			if err != nil {
				t.Fatalf("%s: read %d: %v", when, offset, err)
			}
			raw, err := r.ReadAll(nil)
			r.Close()
			batch, _, parseErr := log.ParseBatch(raw)
			if err = errors.Join(err, parseErr); err != nil {
				t.Fatal(err)
			}
			err = batch.Each(2<<20, func(r log.Record) bool {
				if !erased[offset] && r.Offset != offset || erased[r.Offset] || string(r.Key) != fmt.Sprint("subject.", r.Offset) ||
					!bytes.Equal(r.Value, largeValue(r.Offset, size)) {
					t.Errorf("%s: at %d is the record %d with key %s", when, offset, r.Offset, r.Key)
				}
				return true
			})
			if err != nil {
				t.Error(err)
			}
		}
		if found, ok, err := p.OffsetForTime(1000+records/2, ReadCommitted); err != nil || !ok || found.Offset != records/2 {
			t.Errorf("%s: the record by time is %+v, %v", when, found, err)
		}
	}
	check("written")
	w.stop()
	if err := w.Registry.Close(); err != nil {
		t.Fatal(err)
	}
	w.db.Close()
	dir := partitionDir(w.dir(p.topic.id), 0)
	for _, name := range w.dirs(dir) {
		if strings.HasSuffix(name, "index") {
			if err := w.disk.Remove(dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.open()
	check("without an index")
	for offset := int64(1); offset < records/2; offset += 2 {
		erased[offset] = true
		if err := w.partition("a", 0).Erase([]int64{offset}, false); err != nil {
			t.Fatal(err)
		}
	}
	check("erased")
	w.compactAll(context.Background(), newComplaints())
	if n := w.partition("a", 0).Compactions().Records; n < records/4-3 {
		t.Errorf("%d records were taken off the disk", n)
	}
	check("compacted")
	w.restart()
	check("restarted")
}

// largeValue is different everywhere.
func largeValue(i int64, size int) []byte {
	b := make([]byte, 0, size+8)
	for n := uint64(i) << 32; len(b) < size; n++ {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b[:size]
}
