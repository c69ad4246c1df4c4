package topic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brokerd/log"
	"brokerd/producer"
)

// records reads everything of a partition from offset on, as "OFFSET VALUE".
func (w *world) records(p *Partition, offset int64) []string {
	w.t.Helper()
	var all []string
	for {
		r, err := p.Read(offset, 1<<20, ReadCommitted)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Length == 0 {
			r.Close()
			return all
		}
		b, err := r.ReadAll(nil)
		r.Close()
		if err != nil {
			w.t.Fatal(err)
		}
		for len(b) > 0 {
			var batch log.Batch
			if batch, b, err = log.ParseBatch(b); err != nil {
				w.t.Fatal(err)
			}
			err = batch.Each(1<<20, func(r log.Record) bool {
				all = append(all, fmt.Sprintf("%d %s", r.Offset, r.Value))
				return true
			})
			if err != nil {
				w.t.Fatal(err)
			}
		}
		offset = r.Next
	}
}

func TestAppendAndRead(t *testing.T) {
	w := newWorld(t)
	made := w.create("a", 2)
	p := w.partition("a", 1)
	first := w.produce(p, batchOf(t, "x", "y"))
	if first != (Appended{Base: 0, Last: 1, LogAppendTime: -1}) {
		t.Errorf("appended %+v", first)
	}
	if next := w.produce(p, batchOf(t, "z")); next.Base != 2 || next.Last != 2 {
		t.Errorf("appended %+v", next)
	}
	if got := strings.Join(w.records(p, 1), ","); got != "0 x,1 y,2 z" {
		t.Errorf("records %s", got)
	}
	if p.Topic() != made || p.Index() != 1 || p.Size() == 0 || p.Err() != nil {
		t.Errorf("partition %d of %s, %d bytes, %v", p.Index(), p.Topic().Name(), p.Size(), p.Err())
	}
	if n := made.Stats().RecordsIn.Load(); n != 3 || made.Stats().BytesIn.Load() != p.Size() {
		t.Errorf("counted %d records and %d bytes of %d", n, made.Stats().BytesIn.Load(), p.Size())
	}
	if _, err := made.Partition(2); !errors.Is(err, ErrNoPartition) {
		t.Errorf("partition 2 of 2: %v", err)
	}
	if _, err := made.Partition(-1); !errors.Is(err, ErrNoPartition) {
		t.Errorf("partition -1: %v", err)
	}
}

func TestAppendRefusesBrokenBatches(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	tests := []struct {
		name  string
		spoil func(b log.Batch)
		want  error
	}{
		{"a flipped bit", func(b log.Batch) { b[len(b)-1] ^= 1 }, log.ErrBadCRC},
		{"a base offset", func(b log.Batch) { b[7] = 1 }, log.ErrBadBatch},
	}
	for _, tt := range tests {
		b := batchOf(t, "x")
		tt.spoil(b)
		if _, err := p.Append(b); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if b, _ := p.Bounds(); b.End != 0 {
		t.Errorf("bounds %+v", b)
	}
}

func TestCompressionType(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]log.Codec{
		"producer": log.Snappy, "uncompressed": log.NoCodec, "gzip": log.Gzip, "snappy": log.Snappy, "lz4": log.LZ4, "zstd": log.Zstd,
	} {
		p, _ := w.create(name, 1, "compression.type", name).Partition(0)
		w.produce(p, build(t, &log.Builder{Codec: log.Snappy}, strings.Repeat("abc", 100)))
		r, err := p.Read(0, 1<<20, ReadUncommitted)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.ReadAll(nil)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		batch, _, err := log.ParseBatch(b)
		if err != nil || batch.Codec() != want {
			t.Errorf("%s: stored as %v, %v", name, batch.Codec(), err)
		}
		if got := w.records(p, 0); len(got) != 1 || got[0] != "0 "+strings.Repeat("abc", 100) {
			t.Errorf("%s: records %s", name, got)
		}
	}
}

func TestLogAppendTime(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "message.timestamp.type", "LogAppendTime")
	p := w.partition("a", 0)
	before := time.Now().UnixMilli()
	b := log.Builder{}
	b.Add(log.Record{Timestamp: 1, Value: []byte("x")})
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	at := w.produce(p, batch)
	if at.LogAppendTime < before || at.LogAppendTime > time.Now().UnixMilli() {
		t.Errorf("stamped %d", at.LogAppendTime)
	}
	found, ok, err := p.OffsetForTime(before, ReadUncommitted)
	if err != nil || !ok || found.Offset != 0 || found.Timestamp != at.LogAppendTime {
		t.Errorf("found %+v, %v, %v", found, ok, err)
	}
	p.mu.Lock()
	p.stamped += 1e9 // as if the clock had fallen back
	want := p.stamped
	p.mu.Unlock()
	if at := w.produce(p, batchOf(t, "y")); at.LogAppendTime != want {
		t.Errorf("stamped %d, want %d", at.LogAppendTime, want)
	}
	newest, ok, err := p.MaxTimestamp(ReadUncommitted)
	if err != nil || !ok || newest.Offset != 1 {
		t.Errorf("newest %+v, %v, %v", newest, ok, err)
	}
}

// TestIdempotence offers five batches, kills the process in several ways, and offers them again.
func TestIdempotence(t *testing.T) {
	tests := []struct {
		name  string
		again func(w *world)
	}{
		{"in one life", func(w *world) {}},
		{"after a clean stop", func(w *world) { w.restart() }},
		{"after a kill", func(w *world) { w.kill(); w.open() }},
		{"after a power failure", func(w *world) { w.crash(nil); w.open() }},
		{"after a stop and a kill", func(w *world) { w.restart(); w.kill(); w.open() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", 1)
			var places []Appended
			w.produce(w.partition("a", 0), batchOf(t, "other"))
			for i := range int32(5) {
				places = append(places, w.produce(w.partition("a", 0), sequenced(t, 7, 1, 2*i, "x", "y")))
			}
			tt.again(w)
			p := w.partition("a", 0)
			for i := range int32(5) {
				at := w.produce(p, sequenced(t, 7, 1, 2*i, "x", "y"))
				want := places[i]
				want.Duplicate = true
				if at != want {
					t.Errorf("batch %d: %+v, want %+v", i, at, want)
				}
			}
			if _, err := p.Append(sequenced(t, 7, 1, 11, "z")); !errors.Is(err, producer.ErrOutOfOrder) {
				t.Errorf("a gap: %v", err)
			}
			if _, err := p.Append(sequenced(t, 7, 0, 10, "z")); !errors.Is(err, producer.ErrFenced) {
				t.Errorf("an older epoch: %v", err)
			}
			if at := w.produce(p, sequenced(t, 7, 1, 10, "z")); at.Base != 11 || at.Duplicate {
				t.Errorf("the next batch: %+v", at)
			}
			if got := len(w.records(p, 0)); got != 12 {
				t.Errorf("%d records, want 12", got)
			}
			list := p.Producers()
			if len(list) != 1 || list[0].ID != 7 || list[0].Epoch != 1 || list[0].LastSequence != 10 {
				t.Errorf("producers %+v", list)
			}
		})
	}
}

// TestConcurrentAppends has producers that repeat every batch, while another goroutine reads, retains and alters.
func TestConcurrentAppends(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "segment.bytes", "1048576")
	p := w.partition("a", 0)
	ctx, cancel := context.WithCancel(context.Background())
	var background, producers sync.WaitGroup
	background.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := p.retain(time.Now(), time.Hour); err != nil {
				t.Error(err)
			}
			if err := w.Alter("a", []Change{{"retention.ms", Set, fmt.Sprint(3_600_000 + i)}}, false); err != nil {
				t.Error(err)
			}
			p.Producers()
		}
	})
	for id := range int64(4) {
		producers.Go(func() {
			for i := range int32(100) {
				first, err := p.Append(sequenced(t, id, 0, i, strings.Repeat("x", 5000)))
				if err != nil {
					t.Error(err)
					return
				}
				again, err := p.Append(sequenced(t, id, 0, i, strings.Repeat("x", 5000)))
				if err != nil || !again.Duplicate || again.Base != first.Base {
					t.Errorf("%+v, then %+v, %v", first, again, err)
				}
			}
		})
	}
	producers.Wait()
	cancel()
	background.Wait()
	if b, err := p.Bounds(); err != nil || b.End != 400 {
		t.Errorf("bounds %+v, %v", b, err)
	}
}

func TestTrim(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	for range 4 {
		w.produce(p, batchOf(t, "x"))
	}
	var outside *log.RangeError
	if _, err := p.Trim(5); !errors.As(err, &outside) {
		t.Errorf("above the end: %v", err)
	}
	for _, tt := range []struct{ offset, want int64 }{{2, 2}, {1, 2}, {-1, 4}} {
		if start, err := p.Trim(tt.offset); err != nil || start != tt.want {
			t.Errorf("trim to %d: %d, %v", tt.offset, start, err)
		}
	}
	w.crash(nil)
	w.open()
	if b, err := w.partition("a", 0).Bounds(); err != nil || b.Start != 4 || b.End != 4 {
		t.Errorf("after a crash: %+v, %v", b, err)
	}
	w.create("compacted", 1, "cleanup.policy", "compact")
	if _, err := w.partition("compacted", 0).Trim(-1); !errors.Is(err, ErrPolicy) {
		t.Errorf("a compacted topic: %v", err)
	}
}

func TestRetention(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "retention.ms", "60000", "segment.ms", "60000")
	w.create("kept", 1, "cleanup.policy", "compact", "retention.ms", "1", "segment.ms", "1")
	for _, name := range []string{"a", "kept"} {
		w.produce(w.partition(name, 0), sequenced(t, 1, 0, 0, "x"))
	}
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"a", "kept"} {
		for range 2 { // the first pass may only roll
			if _, err := w.partition(name, 0).retain(later, 24*time.Hour); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, err := w.partition("a", 0).Bounds(); err != nil || b.Start != 1 || b.End != 1 {
		t.Errorf("bounds %+v, %v; want an empty log that goes on at 1", b, err)
	}
	if b, err := w.partition("kept", 0).Bounds(); err != nil || b.Start != 0 {
		t.Errorf("a compacted topic lost records: %+v, %v", b, err)
	}
	if got := len(w.partition("a", 0).Producers()); got != 1 {
		t.Errorf("%d producers, want 1: it wrote an hour ago", got)
	}
	if _, err := w.partition("a", 0).retain(later, time.Minute); err != nil || len(w.partition("a", 0).Producers()) != 0 {
		t.Errorf("producers %+v, %v", w.partition("a", 0).Producers(), err)
	}
}

func TestRunAppliesRetention(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newWorld(t)
	defer w.stop()
	w.create("a", 1, "retention.ms", "1", "segment.ms", "1")
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "x"))
	moved := make(chan struct{}, 1)
	defer p.Watch(moved)()
	w.o.RetainEach = time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for {
		if b, err := p.Bounds(); err != nil || b.Start == 1 {
			break
		}
		select {
		case <-moved:
		case <-ctx.Done():
			t.Fatal("nothing was deleted")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClosedRegistryRefuses(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	w.stop()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Append(batchOf(t, "x")); !errors.Is(err, log.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := p.retain(time.Now(), time.Hour); !errors.Is(err, log.ErrClosed) {
		t.Errorf("retain: %v", err)
	}
	_, err := w.Create(Spec{Name: "b", Partitions: 1})
	for _, err := range []error{err, w.Delete("a"), w.AddPartitions("a", 2, false), w.Alter("a", nil, false)} {
		if !errors.Is(err, log.ErrClosed) {
			t.Errorf("change: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	w.db.Close()
	w.open()
}
