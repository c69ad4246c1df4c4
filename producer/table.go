package producer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"brokerd/log"
)

// Window is how many of a producer's last batches are remembered per partition: a client may have this many in flight.
const Window = 5

// Duplicate says that a batch was appended before, and where.
type Duplicate struct {
	Base, Last int64 // offsets of the first append
}

// Table holds the sequences of every idempotent producer of one partition. It is a log.Projection, and is not safe for
// concurrent use: the partition's lock guards it.
type Table struct {
	rows map[int64]*row // by producer id
}

// row is what is known of one producer.
type row struct {
	epoch int16
	seen  int64  // milliseconds since 1970 of the last commit
	spans []span // 1 to Window batches of this epoch, the oldest first
}

// span is one batch: its sequences, and the offset of the first. Sequences wrap, offsets do not.
type span struct {
	first, last int32
	base        int64
}

func (s span) duplicate() *Duplicate {
	return &Duplicate{Base: s.base, Last: s.base + int64((s.last-s.first)&math.MaxInt32)}
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{rows: make(map[int64]*row)} }

// Check says whether b may be appended: nil, nil to append it; a Duplicate to answer with the original offsets. Batches
// without a producer id always pass. Errors: ErrOutOfOrder, ErrFenced.
//
// The rules are those of KIP-98, in this order: the same epoch and the same sequences as one of the last five batches
// are a duplicate; an older epoch is fenced; a newer epoch starts at sequence 0; within an epoch a batch starts where
// the last one ended, 2147483647 being followed by 0. A producer that is not known, because it is new or was
// forgotten, may start anywhere.
func (t *Table) Check(b log.Batch) (*Duplicate, error) {
	if !sequenced(b) {
		return nil, nil
	}
	r := t.rows[b.ProducerID()]
	if r == nil {
		return nil, nil
	}
	first, epoch := b.BaseSequence(), b.ProducerEpoch()
	if epoch == r.epoch {
		for _, s := range r.spans {
			if s.first == first && s.last == b.LastSequence() {
				return s.duplicate(), nil
			}
		}
	}
	switch want := follow(r.spans[len(r.spans)-1].last); {
	case epoch < r.epoch:
		return nil, fmt.Errorf("%w: producer %d has epoch %d, the batch %d", ErrFenced, b.ProducerID(), r.epoch, epoch)
	case epoch > r.epoch && first != 0:
		return nil, fmt.Errorf("%w: producer %d starts epoch %d with sequence %d, want 0", ErrOutOfOrder, b.ProducerID(), epoch, first)
	case epoch == r.epoch && first != want:
		return nil, fmt.Errorf("%w: producer %d sent sequence %d, want %d", ErrOutOfOrder, b.ProducerID(), first, want)
	}
	return nil, nil
}

// Commit records a batch that was appended (its base offset is set) at the time now.
func (t *Table) Commit(b log.Batch, now time.Time) {
	if !sequenced(b) {
		return
	}
	r := t.rows[b.ProducerID()]
	if r == nil {
		r = &row{spans: make([]span, 0, Window)}
		t.rows[b.ProducerID()] = r
	}
	if r.epoch != b.ProducerEpoch() {
		r.epoch, r.spans = b.ProducerEpoch(), r.spans[:0]
	}
	if len(r.spans) == Window {
		r.spans = slices.Delete(r.spans, 0, 1)
	}
	r.spans = append(r.spans, span{first: b.BaseSequence(), last: b.LastSequence(), base: b.BaseOffset()})
	r.seen = now.UnixMilli()
}

// Replay implements log.Projection. The time of the append is not known, so a restart counts as a sign of life: it
// makes a producer live longer, never shorter.
func (t *Table) Replay(b log.Batch) { t.Commit(b, time.Now()) }

// Expire forgets producers that have not written for longer than age.
func (t *Table) Expire(now time.Time, age time.Duration) {
	oldest := now.Add(-age).UnixMilli()
	for id, r := range t.rows {
		if r.seen < oldest {
			delete(t.rows, id)
		}
	}
}

// Producer is one row of the table, for DescribeProducers (KIP-664) and tools.
type Producer struct {
	ID           int64
	Epoch        int16
	LastSequence int32
	LastTime     time.Time
}

// List returns all rows, ordered by id.
func (t *Table) List() []Producer {
	list := make([]Producer, 0, len(t.rows))
	for _, id := range t.ids() {
		r := t.rows[id]
		list = append(list, Producer{
			ID:           id,
			Epoch:        r.epoch,
			LastSequence: r.spans[len(r.spans)-1].last,
			LastTime:     time.UnixMilli(r.seen),
		})
	}
	return list
}

// Batches are the base offsets of all batches that the table knows: a log that keeps their headers keeps the table.
func (t *Table) Batches() map[int64]bool {
	bases := make(map[int64]bool, len(t.rows))
	for _, r := range t.rows {
		for _, s := range r.spans {
			bases[s.base] = true
		}
	}
	return bases
}

// ids are all producer ids in order.
func (t *Table) ids() []int64 {
	ids := make([]int64, 0, len(t.rows))
	for id := range t.rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// sequenced says whether b takes part in the sequence rules: markers and plain batches do not.
func sequenced(b log.Batch) bool {
	return b.ProducerID() >= 0 && b.BaseSequence() >= 0 && !b.Control()
}

// follow is the sequence after last.
func follow(last int32) int32 {
	if last == math.MaxInt32 {
		return 0
	}
	return last + 1
}
