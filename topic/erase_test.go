package topic

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"brokerd/log"
)

func TestErase(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "v", "w", "x"))
	w.produce(p, batchOf(t, "y", "z"))
	if err := p.Erase([]int64{1, 3, 4, 99}, true); err != nil {
		t.Fatal(err)
	}
	want := func(when, records string) {
		t.Helper()
		if got := strings.Join(w.records(w.partition("a", 0), 0), ","); got != records {
			t.Errorf("%s: %s, want %s", when, got, records)
		}
	}
	want("erased", "0 v,2 x")
	w.crash(nil)
	w.open()
	want("after a crash", "0 v,2 x")
	p = w.partition("a", 0)
	if at := w.produce(p, batchOf(t, "new")); at.Base != 5 {
		t.Errorf("appended at %d, want 5", at.Base)
	}
	err := p.Exclusive(func(tail Tail) error { return tail.Erase([]int64{2}) })
	if err != nil {
		t.Fatal(err)
	}
	want("erased by the broker", "0 v,5 new")
	if err := w.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if err := p.Erase([]int64{0}, false); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// TestCompactionTakesErasedRecordsOffTheDisk has a topic whose keys do not matter.
func TestCompactionTakesErasedRecordsOffTheDisk(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	var s scribe
	if err := p.Follow(&s, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	w.produce(p, batchOf(t, "secret", "x", "x", "y"))
	if err := p.Erase([]int64{0}, true); err != nil {
		t.Fatal(err)
	}
	s.take()
	said := newComplaints()
	w.compactAll(context.Background(), said)
	if got := p.Compactions(); got.Records != 0 {
		t.Errorf("one of four was reason enough: %+v", got)
	}
	p.Reclaim()
	for p.Compactions().Records == 0 { // the first round may only roll; the flush that follows is the committer's
		w.compactAll(context.Background(), said)
		w.produce(p, batchOf(t, "z"))
	}
	if got := s.take(); strings.Contains(got, "removed") {
		t.Errorf("told of what was erased: %s", got)
	}
	if got := w.records(p, 0); !slices.Equal(got[:4], []string{"1 x", "2 x", "3 y", "4 z"}) {
		t.Errorf("records %v", got)
	}
}

// TestFollowerSeesCompaction tells of those records that newer ones replace.
func TestFollowerSeesCompaction(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact", "segment.ms", "1", "min.cleanable.dirty.ratio", "0")
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "x", "x", "y", "x", "y"))
	var s scribe
	if err := p.Follow(&s, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	if err := p.Erase([]int64{1}, true); err != nil {
		t.Fatal(err)
	}
	if err := p.log.Roll(); err != nil {
		t.Fatal(err)
	}
	w.produce(p, batchOf(t, "z"))
	s.take()
	for p.Compactions().Records == 0 {
		w.compactAll(context.Background(), newComplaints())
	}
	if got := s.take(); got != "removed 0, removed 2" {
		t.Errorf("told %s", got)
	}
}

func TestTailDiscards(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact")
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "x", "y"))
	err := p.Exclusive(func(tail Tail) error {
		if err := tail.Discard(1); err != nil {
			return err
		}
		var outside *log.RangeError
		if err := tail.Discard(3); !errors.As(err, &outside) {
			t.Errorf("above the end: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.Bounds(); err != nil || b.Start != 1 {
		t.Errorf("bounds %+v, %v", b, err)
	}
	w.restart()
	if b, err := w.partition("a", 0).Bounds(); err != nil || b.Start != 1 {
		t.Errorf("after a stop: %+v, %v", b, err)
	}
}
