package topic

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"brokerd/log"
)

// scribe is a follower that writes down what it is told.
type scribe struct {
	told   []string
	refuse error
	before string // appended before the next batch of a client
	add    func(t Tail, value string) error
}

func (s *scribe) Admit(t Tail, b log.Batch) error {
	s.told = append(s.told, fmt.Sprintf("admit %d at %d", b.Count(), t.End()))
	if s.refuse != nil {
		return s.refuse
	}
	if value := s.before; value != "" {
		s.before = ""
		return s.add(t, value)
	}
	return nil
}

func (s *scribe) Appended(b log.Batch) {
	_ = b.Each(1<<20, func(r log.Record) bool {
		s.told = append(s.told, fmt.Sprintf("%d %s", r.Offset, r.Value))
		return true
	})
}

func (s *scribe) Trimmed(start int64)  { s.told = append(s.told, fmt.Sprintf("trimmed %d", start)) }
func (s *scribe) Removed(offset int64) { s.told = append(s.told, fmt.Sprintf("removed %d", offset)) }

func (s *scribe) take() string {
	told := strings.Join(s.told, ", ")
	s.told = nil
	return told
}

func TestFollowerSeesEverything(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "old"))
	s := &scribe{add: func(tail Tail, value string) error {
		_, err := tail.Append(batchOf(t, value))
		return err
	}}
	var end int64
	if err := p.Follow(s, func(tail Tail) { end = tail.End() }); err != nil || end != 1 {
		t.Fatalf("followed at %d, %v", end, err)
	}
	w.produce(p, sequenced(t, 7, 0, 0, "x", "y"))
	w.produce(p, sequenced(t, 7, 0, 0, "x", "y"))
	if got := s.take(); got != "admit 2 at 1, 1 x, 2 y" {
		t.Errorf("a batch and its duplicate: %s", got)
	}
	s.before = "first"
	if at := w.produce(p, batchOf(t, "z")); at.Base != 4 {
		t.Errorf("appended at %d, want 4", at.Base)
	}
	if got := s.take(); got != "admit 1 at 3, 3 first, 4 z" {
		t.Errorf("something before the batch: %s", got)
	}
	s.refuse = errors.New("no")
	if _, err := p.Append(sequenced(t, 7, 0, 2, "w")); !errors.Is(err, s.refuse) {
		t.Errorf("refused: %v", err)
	}
	s.refuse = nil
	w.produce(p, sequenced(t, 7, 0, 2, "w"))
	if got := s.take(); got != "admit 1 at 5, admit 1 at 5, 5 w" {
		t.Errorf("refused, then taken: %s", got)
	}
	if start, err := p.Trim(2); err != nil || start != 2 {
		t.Fatalf("trim: %d, %v", start, err)
	}
	if got := s.take(); got != "trimmed 2" {
		t.Errorf("trim: %s", got)
	}
	if err := p.Follow(nil, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	w.produce(p, batchOf(t, "unseen"))
	if got := s.take(); got != "" {
		t.Errorf("told after the end: %s", got)
	}
}

func TestFollowerSeesRetention(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "retention.ms", "60000", "segment.ms", "60000")
	p := w.partition("a", 0)
	var s scribe
	if err := p.Follow(&s, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	w.produce(p, batchOf(t, "x"))
	s.take()
	for range 2 { // the first pass may only roll
		if _, err := p.retain(time.Now().Add(time.Hour), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.take(); !strings.HasSuffix(got, "trimmed 1") {
		t.Errorf("retention: %s", got)
	}
}

// TestExclusiveAppends has the broker and a client append at the same time; the follower sees each record once, in order.
func TestExclusiveAppends(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	var s scribe
	if err := p.Follow(&s, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for range 100 {
			if _, err := p.Append(batchOf(t, "client")); err != nil {
				t.Error(err)
			}
		}
	})
	group.Go(func() {
		for range 100 {
			err := p.Exclusive(func(tail Tail) error {
				end := tail.End()
				at, err := tail.Append(batchOf(t, "broker", "broker"))
				if err == nil && (at.Base != end || at.Last != end+1 || tail.End() != end+2) {
					t.Errorf("appended %+v at %d", at, end)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	next := int64(0)
	for _, line := range s.told {
		if strings.HasPrefix(line, "admit") {
			continue
		}
		if !strings.HasPrefix(line, fmt.Sprint(next, " ")) {
			t.Fatalf("told %q, want offset %d", line, next)
		}
		next++
	}
	if n := p.Topic().Stats().RecordsIn.Load(); next != 300 || n != 300 {
		t.Errorf("told of %d records, counted %d, want 300", next, n)
	}
}

func TestExclusiveRefuses(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	broken := errors.New("broken")
	if err := p.Exclusive(func(Tail) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want the function's error", err)
	}
	never := func(Tail) error { t.Error("called"); return nil }
	if err := w.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if err := p.Exclusive(never); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	w.create("b", 1)
	p = w.partition("b", 0)
	w.stop()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Exclusive(never); !errors.Is(err, log.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := p.Discard(0); !errors.Is(err, log.ErrClosed) {
		t.Errorf("discard, closed: %v", err)
	}
	w.db.Close()
	w.open()
}

func TestDiscardIgnoresThePolicy(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "cleanup.policy", "compact")
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "x", "y"))
	if err := p.Discard(1); err != nil {
		t.Fatal(err)
	}
	var outside *log.RangeError
	if err := p.Discard(3); !errors.As(err, &outside) {
		t.Errorf("above the end: %v", err)
	}
	if b, err := p.Bounds(); err != nil || b.Start != 1 {
		t.Errorf("bounds %+v, %v", b, err)
	}
}

// TestStreamSurvives stores what belongs to a stream with the topic, through changes of other things and a crash.
func TestStreamSurvives(t *testing.T) {
	w := newWorld(t)
	stream := []byte{0, 1, 0xff}
	made, err := w.Create(Spec{Name: "s", Partitions: 1, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	stream[0] = 9 // the caller's own
	want := func(when, stream, retention string) {
		t.Helper()
		found, ok := w.Get("s")
		if !ok || !bytes.Equal(found.Stream(), []byte(stream)) || found.levels().text("retention.ms") != retention {
			t.Errorf("%s: %q, retention %s", when, found.Stream(), found.levels().text("retention.ms"))
		}
	}
	want("made", "\x00\x01\xff", "604800000")
	if made.Memory() {
		t.Error("a topic on the disk is said to be in memory")
	}
	if err := w.Alter("s", []Change{{"retention.ms", Set, "5"}}, false); err != nil {
		t.Fatal(err)
	}
	w.crash(nil)
	w.open()
	want("changed otherwise", "\x00\x01\xff", "5")
	if err := w.AlterStream("s", []byte("new"), []Change{{"retention.ms", Set, "no number"}}); !errors.Is(err, ErrBadConfig) {
		t.Errorf("a bad setting: %v", err)
	}
	want("not changed", "\x00\x01\xff", "5")
	if err := w.AlterStream("s", []byte("new"), []Change{{"retention.ms", Set, "7"}}); err != nil {
		t.Fatal(err)
	}
	want("both changed", "new", "7")
	if err := w.AlterStream("s", []byte("newer"), nil); err != nil {
		t.Fatal(err)
	}
	w.crash(nil)
	w.open()
	want("the stream changed", "newer", "7")
	if err := w.AlterStream("other", nil, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such topic: %v", err)
	}
	if made := w.create("kafka", 1); made.Stream() != nil {
		t.Errorf("a topic without a stream has %q", made.Stream())
	}
}

// TestFirstOffset makes a partition that begins somewhere else, and moves it on.
func TestFirstOffset(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Create(Spec{Name: "a", Partitions: 2, FirstOffset: 999}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(Spec{Name: "m", Partitions: 1, FirstOffset: 999, Memory: true}); err != nil {
		t.Fatal(err)
	}
	if at := w.produce(w.partition("m", 0), batchOf(t, "x")); at.Base != 999 {
		t.Errorf("in memory: appended at %d", at.Base)
	}
	w.crash(nil)
	w.open()
	want := func(when string, start, end int64) {
		t.Helper()
		if b, err := w.partition("a", 1).Bounds(); err != nil || b.Start != start || b.End != end {
			t.Errorf("%s: %+v, %v, want %d to %d", when, b, err, start, end)
		}
	}
	want("made", 999, 999)
	p := w.partition("a", 1)
	w.produce(p, batchOf(t, "x", "y"))
	var s scribe
	if err := p.Follow(&s, func(Tail) {}); err != nil {
		t.Fatal(err)
	}
	var outside *log.RangeError
	if err := p.Advance(1000); !errors.As(err, &outside) {
		t.Errorf("below the end: %v", err)
	}
	want("still there", 999, 1001)
	if err := p.Advance(1001); err != nil {
		t.Fatal(err)
	}
	want("emptied", 1001, 1001)
	if err := p.Advance(5000); err != nil {
		t.Fatal(err)
	}
	want("moved on", 5000, 5000)
	if got := s.take(); !strings.HasSuffix(got, "trimmed 1001, trimmed 5000") {
		t.Errorf("told %s", got)
	}
	w.produce(p, batchOf(t, "z"))
	w.crash(nil)
	w.open()
	want("after a crash", 5000, 5001)
	if got := strings.Join(w.records(w.partition("a", 1), 5000), ","); got != "5000 z" {
		t.Errorf("records %s", got)
	}
}
