package topic

import (
	"errors"
	"fmt"
)

// Errors of the registry. Front ends map them one by one; each may be wrapped with the reason. A partition whose log
// could not be opened answers everything with an error that wraps log.ErrFailed and the cause.
var (
	ErrNotFound      = errors.New("topic: no such topic")
	ErrNoPartition   = errors.New("topic: no such partition")
	ErrExists        = errors.New("topic: already exists")
	ErrBadName       = errors.New("topic: invalid name")
	ErrBadPartitions = errors.New("topic: invalid number of partitions")
	ErrBadConfig     = errors.New("topic: invalid setting")
	ErrTooLarge      = errors.New("topic: batch is larger than max.message.bytes")
	ErrBadTimestamp  = errors.New("topic: record time is outside the allowed window")
	ErrKeyless       = errors.New("topic: a compacted topic takes no record without a key")
	// ErrPolicy is returned by Partition.Trim when cleanup.policy does not allow deletion.
	ErrPolicy = errors.New("topic: not allowed by cleanup.policy")
	// ErrRefused is returned by Partition.Append when the topic is a stream whose configuration does not let the batch in.
	ErrRefused = errors.New("topic: refused by the stream that the topic is")
	// ErrNewerFormat is returned by Open for metadata that a newer release wrote.
	ErrNewerFormat = errors.New("topic: the metadata was written by a newer release")
)

// namedRecords is the most records that a RecordsError names.
const namedRecords = 10_000

// RecordsError refuses a batch for some of its records: the others may be sent again without them (KIP-467). It wraps
// ErrKeyless or ErrBadTimestamp, whichever is the matter with the first one.
type RecordsError struct {
	// Bad are records that were refused, in order; of very many only the first ones.
	Bad []BadRecord
}

// BadRecord is a record that was refused.
type BadRecord struct {
	Index int // in its batch
	Err   error
}

func (e *RecordsError) Error() string {
	text := fmt.Sprintf("record %d: %v", e.Bad[0].Index, e.Bad[0].Err)
	if more := len(e.Bad) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more records)", more)
	}
	return text
}

func (e *RecordsError) Unwrap() error { return e.Bad[0].Err }
