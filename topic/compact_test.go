package topic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brokerd/log"
	"brokerd/log/vfs/memfs"
)

// keyed makes a batch of records with these values, whose keys are what comes before "=".
func keyed(t *testing.T, b log.Builder, records ...string) log.Batch {
	t.Helper()
	for _, r := range records {
		key, _, _ := strings.Cut(r, "=")
		b.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(key), Value: []byte(r)})
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// put appends and closes the segment, so that all may be compacted once the committer has run.
func (w *world) put(p *Partition, batches ...log.Batch) {
	w.t.Helper()
	for _, b := range batches {
		if _, err := p.Append(b); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := p.log.Roll(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wantStored(p *Partition, want ...string) {
	w.t.Helper()
	if got := w.records(p, 0); !slices.Equal(got, want) {
		w.t.Errorf("%s-%d holds %v, want %v", p.topic.name, p.index, got, want)
	}
}

func TestDue(t *testing.T) {
	now := time.Now()
	dirt := func(clean, dirty int64, age time.Duration) log.Dirt {
		return log.Dirt{Clean: clean, Dirty: dirty, Since: now.Add(-age)}
	}
	tests := []struct {
		name string
		c    Compaction
		d    log.Dirt
		want bool
	}{
		{"clean", Compaction{MaxLag: 1}, dirt(100, 0, time.Hour), false},
		{"as dirty as it may be", Compaction{DirtyRatio: 0.5, MaxLag: -1}, dirt(100, 100, time.Hour), false},
		{"dirtier", Compaction{DirtyRatio: 0.5, MaxLag: -1}, dirt(100, 101, 0), true},
		{"any dirt", Compaction{DirtyRatio: 0, MaxLag: -1}, dirt(1<<40, 1, 0), true},
		{"never by dirt", Compaction{DirtyRatio: 1, MaxLag: -1}, dirt(0, 100, time.Hour), false},
		{"for too long", Compaction{DirtyRatio: 1, MaxLag: time.Hour}, dirt(100, 1, time.Hour), true},
		{"not for too long", Compaction{DirtyRatio: 1, MaxLag: time.Hour}, dirt(100, 1, time.Hour-1), false},
	}
	for _, tt := range tests {
		if got := tt.c.due(tt.d, now); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestCompactAll(t *testing.T) {
	w := newWorld(t)
	w.create("state", 2, "cleanup.policy", "compact")
	w.create("both", 1, "cleanup.policy", "compact,delete", "compression.type", "zstd")
	w.create("events", 1)
	state, both, events := w.partition("state", 0), w.partition("both", 0), w.partition("events", 0)
	w.put(state, keyed(t, log.Builder{}, "a=1", "b=1"), keyed(t, log.Builder{Codec: log.LZ4}, "a=2", "b=2"))
	w.put(both, keyed(t, log.Builder{}, "a=1", "a=2"))
	w.put(events, keyed(t, log.Builder{}, "a=1", "a=2"))
	w.stop()
	w.compactAll(context.Background(), newComplaints())
	w.wantStored(state, "2 a=2", "3 b=2")
	w.wantStored(both, "1 a=2")
	w.wantStored(events, "0 a=1", "1 a=2")
	if c := state.Compactions(); c.Records != 2 || c.Bytes <= 0 || c.Err != nil || c.Last.IsZero() || c.Took <= 0 {
		t.Errorf("%+v", c)
	}
	if c := w.partition("state", 1).Compactions(); c != (Compactions{}) {
		t.Errorf("an empty partition: %+v", c)
	}
	if d := state.Dirt(time.Now()); d.Dirty != 0 || d.Clean == 0 {
		t.Errorf("%+v", d)
	}
	if did, err := both.retain(time.Now().Add(8*24*time.Hour), time.Hour); err != nil || did.Segments == 0 {
		t.Errorf("retention of compact,delete: %+v, %v", did, err)
	}
	if lines := w.complaints(); len(lines) > 0 {
		t.Error(lines)
	}
}

func TestDirtiestFirst(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0")
	w.create("b", 2, "cleanup.policy", "compact")
	a := w.partition("a", 0)
	w.put(a, keyed(t, log.Builder{}, "a=1"))
	w.stop()
	w.compactAll(context.Background(), newComplaints())
	w.restart()
	a, b := w.partition("a", 0), w.partition("b", 1)
	w.put(a, keyed(t, log.Builder{}, "a=2"))
	w.put(b, keyed(t, log.Builder{}, "a=1"))
	w.stop()
	if due := w.dirty(time.Now()); !slices.Equal(due, []*Partition{b, a}) {
		t.Errorf("due: %v", due)
	}
	if err := w.Alter("b", []Change{{Key: "min.compaction.lag.ms", Value: "3600000"}}, false); err != nil {
		t.Fatal(err)
	}
	if due := w.dirty(time.Now()); !slices.Equal(due, []*Partition{a}) {
		t.Errorf("due with a lag: %v", due)
	}
}

// A producer's sequences can be rebuilt from a compacted log alone.
func TestCompactKeepsSequences(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact")
	p := w.partition("a", 0)
	var sent []log.Batch
	for i := range int32(8) {
		b := keyed(t, log.Builder{Idempotent: true, ProducerID: 9, BaseSequence: 2 * i, Codec: log.Codec(i % 5)}, "x=1", "y=1")
		sent = append(sent, b)
		w.put(p, bytes.Clone(b))
	}
	w.put(p, keyed(t, log.Builder{}, "x=2", "y=2", "z=2"))
	w.stop()
	w.compactAll(context.Background(), newComplaints())
	w.wantStored(p, "16 x=2", "17 y=2", "18 z=2")
	before := fmt.Sprint(p.Producers()[0].LastSequence)

	w.disk = w.disk.Crash(nil)
	w.stop()
	w.db.Close()
	dir := path.Join("data", topicsDir, p.topic.id.String(), "0")
	for _, name := range w.dirs(dir) {
		if strings.HasSuffix(name, ".snapshot") {
			if err := w.disk.Remove(path.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.open()
	p = w.partition("a", 0)
	if got := fmt.Sprint(p.Producers()[0].LastSequence); got != before {
		t.Errorf("last sequence %s, want %s", got, before)
	}
	for i, b := range sent {
		at, err := p.Append(bytes.Clone(b))
		if i < len(sent)-5 {
			if err == nil {
				t.Errorf("batch %d, long ago, was taken at %d", i, at.Base)
			}
			continue
		}
		if err != nil || !at.Duplicate || at.Base != int64(2*i) {
			t.Errorf("batch %d again: %+v, %v", i, at, err)
		}
	}
	w.wantStored(p, "16 x=2", "17 y=2", "18 z=2")
}

// A partition whose round fails shows it, does not keep others from theirs, and gets its own when the cause is gone.
func TestFailedCompactionIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.create("a", 2, "cleanup.policy", "compact")
	bad, good := w.partition("a", 0), w.partition("a", 1)
	for _, p := range []*Partition{bad, good} {
		w.put(p, keyed(t, log.Builder{}, "a=1", "a=2"))
	}
	w.stop()
	said := newComplaints()
	w.disk.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Write && strings.Contains(op.Name, "/0/") {
			return syscall.ENOSPC
		}
		return nil
	})
	for range 3 {
		w.compactAll(context.Background(), said)
	}
	if c := bad.Compactions(); !errors.Is(c.Err, log.ErrNoSpace) || !c.Last.IsZero() {
		t.Errorf("%+v", c)
	}
	w.wantStored(bad, "0 a=1", "1 a=2")
	w.wantStored(good, "1 a=2")
	if lines := w.complaints(); len(lines) != 1 || !strings.Contains(lines[0], "compaction failed") || !strings.Contains(lines[0], `"partition":0`) {
		t.Errorf("%q", lines)
	}
	w.disk.Fail(nil)
	w.compactAll(context.Background(), said)
	w.wantStored(bad, "1 a=2")
	if c := bad.Compactions(); c.Err != nil || c.Records != 1 {
		t.Errorf("%+v", c)
	}
}

func TestCompactRunsUntilItIsStopped(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newWorld(t)
	defer w.stop()
	w.create("a", 1, "cleanup.policy", "compact")
	w.put(w.partition("a", 0), keyed(t, log.Builder{}, "a=1", "a=2"))
	swapped := make(chan struct{})
	var seen bool
	w.disk.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Rename && strings.HasSuffix(op.Name, ".swap") && !seen {
			seen = true
			close(swapped)
		}
		return nil
	})
	w.o.CompactEach = time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Compact(ctx) }()
	select {
	case <-swapped:
	case <-ctx.Done():
		t.Fatal("nothing was compacted")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Deleting a topic does not wait for compaction to be through, and compaction does not mind.
func TestDeleteDuringCompaction(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact")
	p := w.partition("a", 0)
	for range 20 {
		w.put(p, keyed(t, log.Builder{}, "a=1", "a=2"))
	}
	w.stop()
	entered, goOn := make(chan struct{}), make(chan struct{})
	var seen bool
	w.disk.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Create && strings.HasSuffix(op.Name, ".log.cleaned") && !seen {
			seen = true
			close(entered)
			<-goOn
		}
		return nil
	})
	compacted, deleted := make(chan error), make(chan error)
	go func() {
		_, err := p.compact(context.Background(), 1<<20)
		compacted <- err
	}()
	<-entered
	go func() { deleted <- w.Delete("a") }()
	for p.Err() == nil { // until the deletion has begun
	}
	close(goOn)
	if err := errors.Join(<-compacted, <-deleted); err != nil {
		t.Error(err)
	}
	if names := w.dirs(path.Join("data", topicsDir)); len(names) > 0 {
		t.Error("left:", names)
	}
}

// Whatever moment the power fails at, the newest value of each key is there afterwards.
func TestCompactThroughCrashes(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0")
	newest := map[string]string{}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		p := w.partition("a", 0)
		for range 5 {
			b, _ := p.Bounds()
			key, value := fmt.Sprint("k", rng.IntN(10)), fmt.Sprint("v", b.End)
			newest[key] = fmt.Sprintf("%d %s=%s", b.End, key, value)
			w.put(p, keyed(t, log.Builder{}, key+"="+value))
		}
		w.stop()
		left := rng.IntN(600)
		ctx, cancel := context.WithCancel(context.Background())
		w.disk.Fail(func(memfs.Op) error {
			if left--; left < 0 {
				cancel()
				return memfs.ErrGone
			}
			return nil
		})
		_, _ = p.compact(ctx, 1<<20)
		w.crash(rng)
		cancel()
		w.open()
		got := w.records(w.partition("a", 0), 0)
		for key, want := range newest {
			if !slices.Contains(got, want) {
				t.Fatalf("round %d: the newest of %s, %s, is not in %v", round, key, want, got)
			}
		}
	}
	if got := len(w.records(w.partition("a", 0), 0)); got > 60 {
		t.Errorf("%d records are left of 10 keys: nothing was ever compacted", got)
	}
}
