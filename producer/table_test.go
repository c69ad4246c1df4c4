package producer

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"brokerd/log"
)

// step is one batch offered to a table, and what must come of it.
type step struct {
	id    int64
	epoch int16
	first int32
	n     int32
	want  string // "ok" (it is then committed at the next offset), "dup BASE-LAST", "order", "fenced"
}

func TestTableRules(t *testing.T) {
	const top = math.MaxInt32
	tests := []struct {
		name  string
		steps []step
	}{
		{"without an id everything passes", []step{
			{-1, -1, -1, 3, "ok"}, {-1, -1, -1, 3, "ok"},
		}},
		{"a new producer starts anywhere", []step{
			{1, 0, 0, 1, "ok"}, {2, 0, 77, 1, "ok"}, {2, 0, 78, 1, "ok"}, {3, 5, 9, 1, "ok"},
		}},
		{"each batch follows the last", []step{
			{1, 0, 0, 3, "ok"}, {1, 0, 3, 2, "ok"}, {1, 0, 6, 1, "order"}, {1, 0, 4, 1, "order"}, {1, 0, 5, 1, "ok"},
		}},
		{"a duplicate has the original offsets", []step{
			{9, 0, 0, 4, "ok"}, {1, 0, 0, 3, "ok"}, {1, 0, 3, 2, "ok"}, {1, 0, 0, 3, "dup 4-6"}, {1, 0, 3, 2, "dup 7-8"},
		}},
		{"a duplicate is exact", []step{
			{1, 0, 0, 3, "ok"}, {1, 0, 0, 2, "order"}, {1, 0, 0, 4, "order"}, {1, 0, 1, 2, "order"},
		}},
		{"five batches are remembered", []step{
			{1, 0, 0, 1, "ok"}, {1, 0, 1, 1, "ok"}, {1, 0, 2, 1, "ok"}, {1, 0, 3, 1, "ok"}, {1, 0, 4, 1, "ok"},
			{1, 0, 0, 1, "dup 0-0"}, {1, 0, 5, 1, "ok"}, {1, 0, 0, 1, "order"}, {1, 0, 1, 1, "dup 1-1"}, {1, 0, 5, 1, "dup 5-5"},
		}},
		{"sequences wrap to zero", []step{
			{1, 0, top - 1, 1, "ok"}, {1, 0, top, 1, "ok"}, {1, 0, 0, 1, "ok"}, {1, 0, 1, 1, "ok"}, {1, 0, top, 1, "dup 1-1"},
		}},
		{"a batch may span the wrap", []step{
			{1, 0, top - 1, 4, "ok"}, {1, 0, 2, 1, "ok"}, {1, 0, top - 1, 4, "dup 0-3"}, {1, 0, 1, 1, "order"},
		}},
		{"a newer epoch starts at zero", []step{
			{1, 0, 0, 2, "ok"}, {1, 1, 2, 1, "order"}, {1, 1, 0, 2, "ok"}, {1, 1, 2, 1, "ok"}, {1, 1, 0, 2, "dup 2-3"},
		}},
		{"an older epoch is fenced, even with known sequences", []step{
			{1, 3, 0, 2, "ok"}, {1, 2, 0, 2, "fenced"}, {1, 2, 2, 1, "fenced"}, {1, 4, 0, 2, "ok"}, {1, 3, 0, 2, "fenced"},
		}},
		{"producers do not mix", []step{
			{1, 0, 0, 1, "ok"}, {2, 0, 0, 1, "ok"}, {1, 0, 1, 1, "ok"}, {2, 0, 0, 1, "dup 1-1"}, {2, 0, 2, 1, "order"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := NewTable()
			next := int64(0)
			for i, s := range tt.steps {
				b := newBatch(s.id, s.epoch, s.first, s.n, next)
				dup, err := table.Check(b)
				if got := verdict(dup, err); got != s.want {
					t.Fatalf("step %d %+v: %s (%v)", i, s, got, err)
				}
				if s.want == "ok" {
					table.Commit(b, time.UnixMilli(int64(i)))
					next += int64(s.n)
				}
			}
		})
	}
}

func TestMarkersAreNoBatchesOfAProducer(t *testing.T) {
	table := NewTable()
	marker := newBatch(7, 0, -1, 1, 0)
	marker[22] |= 1 << 5
	table.Replay(marker)
	if got := table.List(); len(got) != 0 {
		t.Errorf("a marker made a producer: %+v", got)
	}
	if dup, err := table.Check(marker); dup != nil || err != nil {
		t.Errorf("marker: %v, %v", dup, err)
	}
}

func TestExpire(t *testing.T) {
	table := NewTable()
	now := time.UnixMilli(1_000_000)
	table.Commit(newBatch(2, 0, 0, 1, 0), now.Add(-time.Hour))
	table.Commit(newBatch(1, 4, 9, 2, 1), now.Add(-time.Minute))
	table.Expire(now, 2*time.Hour)
	if got := len(table.List()); got != 2 {
		t.Fatalf("%d producers are left, want both", got)
	}
	table.Expire(now, time.Minute)
	want := Producer{ID: 1, Epoch: 4, LastSequence: 10, LastTime: now.Add(-time.Minute)}
	if got := table.List(); len(got) != 1 || got[0] != want {
		t.Fatalf("left %+v, want %+v", got, want)
	}
	if dup, err := table.Check(newBatch(2, 0, 5, 1, 3)); dup != nil || err != nil {
		t.Errorf("a forgotten producer: %v, %v", dup, err)
	}
}

func TestReplayIsASignOfLife(t *testing.T) {
	table := NewTable()
	var p log.Projection = table
	p.Replay(newBatch(1, 0, 0, 1, 0))
	table.Expire(time.Now(), time.Minute)
	if len(table.List()) != 1 {
		t.Error("a producer expired right after the restart")
	}
}

func verdict(dup *Duplicate, err error) string {
	switch {
	case errors.Is(err, ErrOutOfOrder):
		return "order"
	case errors.Is(err, ErrFenced):
		return "fenced"
	case err != nil:
		return err.Error()
	case dup != nil:
		return fmt.Sprintf("dup %d-%d", dup.Base, dup.Last)
	}
	return "ok"
}
