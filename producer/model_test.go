package producer

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is the plain truth about one producer: every batch of its epoch, in order.
type model struct {
	epoch   int16
	batches []span
}

// expect says, the long way round, what Check must answer.
func (m *model) expect(epoch int16, first, last int32) (*Duplicate, error) {
	if m == nil {
		return nil, nil
	}
	if epoch < m.epoch {
		return nil, ErrFenced
	}
	if epoch > m.epoch {
		if first != 0 {
			return nil, ErrOutOfOrder
		}
		return nil, nil
	}
	for back := 1; back <= Window && back <= len(m.batches); back++ {
		if s := m.batches[len(m.batches)-back]; s.first == first && s.last == last {
			n := int64(last) - int64(first)
			if n < 0 {
				n += 1 << 31
			}
			return &Duplicate{Base: s.base, Last: s.base + n}, nil
		}
	}
	if int64(first) != (int64(m.batches[len(m.batches)-1].last)+1)%(1<<31) {
		return nil, ErrOutOfOrder
	}
	return nil, nil
}

// TestTableAgainstModel offers random batches, most of them plausible, and at random moments replaces the table by a
// snapshot of itself. Every answer must be the model's.
func TestTableAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable()
		models := make(map[int64]*model)
		next := int64(0)
		steps := rapid.IntRange(1, 80).Draw(t, "steps")
		for range steps {
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				restored := NewTable()
				if err := restored.Restore(table.Snapshot()); err != nil {
					t.Fatal(err)
				}
				table = restored
			}
			id := rapid.Int64Range(0, 2).Draw(t, "id")
			m := models[id]
			epoch, first, n := drawBatch(t, m)
			b := newBatch(id, epoch, first, n, next)
			dup, err := table.Check(b)
			wantDup, wantErr := m.expect(epoch, first, b.LastSequence())
			if !errors.Is(err, wantErr) || (dup == nil) != (wantDup == nil) || dup != nil && *dup != *wantDup {
				t.Fatalf("producer %d epoch %d sequence %d + %d: %v, %v; want %v, %v", id, epoch, first, n, dup, err, wantDup, wantErr)
			}
			if err != nil || dup != nil {
				continue
			}
			table.Commit(b, time.UnixMilli(next))
			if m == nil || m.epoch != epoch {
				m = &model{epoch: epoch}
				models[id] = m
			}
			m.batches = append(m.batches, span{first, b.LastSequence(), next})
			next += int64(n)
		}
	})
}

// drawBatch draws a batch that mostly follows or repeats what the model holds.
func drawBatch(t *rapid.T, m *model) (epoch int16, first, n int32) {
	n = rapid.Int32Range(1, 4).Draw(t, "count")
	first = rapid.SampledFrom([]int32{0, 1, 5, math.MaxInt32 - 2, math.MaxInt32}).Draw(t, "first")
	if m == nil {
		return rapid.Int16Range(0, 2).Draw(t, "epoch"), first, n
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return m.epoch + rapid.Int16Range(-1, 1).Draw(t, "step"), first, n
	case 1, 2:
		s := rapid.SampledFrom(m.batches).Draw(t, "repeated")
		return m.epoch, s.first, int32((s.last-s.first)&math.MaxInt32) + 1
	default:
		return m.epoch, follow(m.batches[len(m.batches)-1].last), n
	}
}
