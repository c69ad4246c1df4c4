package producer

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/log"
)

var errTODO = errors.New("producer: not written yet")

var (
	// ErrOutOfOrder refuses a batch whose first sequence does not follow the last one (KIP-98).
	ErrOutOfOrder = errors.New("producer: sequence out of order")
	// ErrFenced refuses a batch of an older producer epoch.
	ErrFenced = errors.New("producer: epoch is fenced by a newer one")
)

// IDs gives out producer ids, never the same twice, also after a crash: blocks of a thousand are reserved durably
// before the first of them is used.
type IDs struct{}

// OpenIDs continues behind the last reserved block in db.
func OpenIDs(db *bbolt.DB) (*IDs, error) { return nil, errTODO }

// Next returns a new producer id.
func (i *IDs) Next(ctx context.Context) (int64, error) { return 0, errTODO }

// Window is how many of a producer's last batches are remembered per partition: a client may have this many in flight.
const Window = 5

// Duplicate says that a batch was appended before, and where.
type Duplicate struct {
	Base, Last int64 // offsets of the first append
}

// Table holds the sequences of every idempotent producer of one partition. It is a log.Projection, and is not safe for
// concurrent use: the partition's lock guards it.
type Table struct{}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{} }

// Check says whether b may be appended: nil, nil to append it; a Duplicate to answer with the original offsets. Batches
// without a producer id always pass. Errors: ErrOutOfOrder, ErrFenced.
func (t *Table) Check(b log.Batch) (*Duplicate, error) { return nil, nil }

// Commit records a batch that was appended (its base offset is set) at the time now.
func (t *Table) Commit(b log.Batch, now time.Time) {}

// Expire forgets producers that have not written for longer than age.
func (t *Table) Expire(now time.Time, age time.Duration) {}

// Producer is one row of the table, for DescribeProducers (KIP-664) and tools.
type Producer struct {
	ID           int64
	Epoch        int16
	LastSequence int32
	LastTime     time.Time
}

// List returns all rows, ordered by id.
func (t *Table) List() []Producer { return nil }

// Snapshot implements log.Projection.
func (t *Table) Snapshot() []byte { return nil }

// Restore implements log.Projection.
func (t *Table) Restore(b []byte) error { return nil }

// Replay implements log.Projection.
func (t *Table) Replay(b log.Batch) {}
