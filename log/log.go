package log

import (
	"context"
	"errors"
	"time"
)

var errTODO = errors.New("log: not written yet")

// Log is one partition's record batches. Its methods may be called from several goroutines; Append and Roll must not
// run concurrently with each other when the log has a Projection.
type Log struct{}

// Bounds are a log's watermarks: Start <= Stable <= Durable <= End (see the package comment).
type Bounds struct {
	Start, Stable, Durable, End int64
}

// Recovery says what Open found and did.
type Recovery struct {
	Segments       int
	Clean          bool     // the last stop was clean: nothing was scanned
	ScannedBytes   int64    // bytes of the tail that were read
	CutBytes       int64    // bytes after the last good batch that were cut off (zeros of preallocated space do not count)
	SkippedOffsets int64    // offsets never to be given out again, because their batch was cut off
	IndexesRebuilt int      // missing, short or wrong indexes that were made anew
	Orphans        []string // files removed because they belong to no segment (indexes, temporary files)
	Damaged        []CorruptError
	Replayed       int // batches replayed into the Projection
	Took           time.Duration
}

// Appended is where a batch went.
type Appended struct {
	Base, Last int64 // offsets of its first and last record
}

// Open opens the log in o.Dir, making it if absent, and recovers it if the last stop was not clean. It starts no
// goroutine.
func Open(o Options) (*Log, Recovery, error) { return nil, Recovery{}, errTODO }

// Append gives the batch its offsets (written into b in place) and writes it. It does not wait: use WaitDurable with
// the returned Last before acknowledging. The batch must have passed CheckBatch.
// Errors: ErrNoSpace, ErrTooLarge, ErrFailed, ErrClosed.
func (l *Log) Append(b Batch) (Appended, error) { return Appended{}, errTODO }

// WaitDurable returns when the record at offset may be acknowledged: when it is below Durable, or at once for an Async
// log. Errors: ErrFailed, ErrClosed, or ctx's.
func (l *Log) WaitDurable(ctx context.Context, offset int64) error { return errTODO }

// Watch sends (without blocking) to ch after every move of a watermark, a change of settings, a failure or a close. The
// caller uses a channel with room for one value, checks its condition after Watch returned, and calls cancel when done.
func (l *Log) Watch(ch chan<- struct{}) (cancel func()) { return func() {} }

// Read returns whole batches from the one that holds offset (or, in a gap, from the next one), at most maxBytes of
// them but always at least one, all below Durable and all in one segment. At Durable it returns an empty Range.
// Errors: *RangeError below Start or above End, *CorruptError when the batch at offset is damaged, ErrFailed never:
// a log that failed can still be read.
// The caller must call Range.Close.
func (l *Log) Read(offset int64, maxBytes int64) (Range, error) { return Range{}, errTODO }

// Bounds returns the watermarks.
func (l *Log) Bounds() Bounds { return Bounds{} }

// Epoch is the leader epoch of new batches. It grows only when a recovery cut off data that somebody may have seen.
func (l *Log) Epoch() int32 { return 0 }

// EpochEnd answers OffsetForLeaderEpoch (KIP-101, KIP-279): the largest known epoch <= epoch, and the offset at which
// it ended (Durable for the current one). For an epoch older than all known: that epoch and the start of the first. For
// a future one: -1, -1.
func (l *Log) EpochEnd(epoch int32) (int32, int64) { return -1, -1 }

// TimeOffset is a record found by time.
type TimeOffset struct {
	Offset    int64
	Timestamp int64 // milliseconds since 1970
	Epoch     int32 // leader epoch of its batch
}

// OffsetForTime finds the first readable record, in offset order, whose time is at or after timestamp (milliseconds);
// found is false when there is none.
func (l *Log) OffsetForTime(timestamp int64) (t TimeOffset, found bool, err error) {
	return TimeOffset{}, false, errTODO
}

// MaxTimestamp finds the first readable record with the largest time; found is false for an empty log.
func (l *Log) MaxTimestamp() (t TimeOffset, found bool, err error) {
	return TimeOffset{}, false, errTODO
}

// Trim moves Start up to offset (at most Durable), durably, and deletes segments wholly below it. Moving it down does
// nothing. Errors: *RangeError above Durable.
func (l *Log) Trim(offset int64) error { return errTODO }

// Roll seals the active segment and starts a new one, unless it is empty.
func (l *Log) Roll() error { return errTODO }

// Retention says what Retain did.
type Retention struct {
	Rolled   bool
	Segments int
	Bytes    int64
	Start    int64
}

// Retain applies RetentionBytes, RetentionAge and SegmentAge by arrival time, not by the times in the records: it may
// roll the active segment and it deletes segments from the oldest on. It never waits for an append.
func (l *Log) Retain(now time.Time) (Retention, error) { return Retention{}, errTODO }

// Size is the bytes of all batches on disk.
func (l *Log) Size() int64 { return 0 }

// SetConfig replaces the settings.
func (l *Log) SetConfig(c Config) {}

// Err is the final error of a failed log, or nil.
func (l *Log) Err() error { return nil }

// Damaged lists the damage found so far.
func (l *Log) Damaged() []CorruptError { return nil }

// Close syncs, writes indexes and snapshot, marks the log clean and closes its files.
func (l *Log) Close() error { return errTODO }

// Remove closes the log without a last sync and deletes its directory.
func (l *Log) Remove() error { return errTODO }
