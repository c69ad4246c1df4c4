package topic

import "errors"

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
	// ErrNewerFormat is returned by Open for metadata that a newer release wrote.
	ErrNewerFormat = errors.New("topic: the metadata was written by a newer release")
)
