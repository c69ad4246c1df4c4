package topic

import "brokerd/log"

// Follower sees everything that happens to the records of a partition. Its methods are called with the partition's lock
// held: they do not wait for anything, and call nothing of the partition but the Tail they are given.
type Follower interface {
	// Admit may refuse a batch of a Kafka producer, and may append what must come before it.
	Admit(t Tail, b log.Batch) error
	// Appended tells of a batch that is now in the log, whoever appended it. Its offsets are set. Records in it are valid
	// during the call.
	Appended(b log.Batch)
	// Trimmed tells that everything below start is gone: by retention, or by DeleteRecords.
	Trimmed(start int64)
	// Removed tells that compaction took a record away that was not erased before.
	Removed(offset int64)
}

// Tail is exclusive access to the end of a partition.
type Tail struct{ p *Partition }

// Follow makes f the partition's only follower and calls it with everything from then on; ready is called first, with the
// partition's lock held. ErrNotFound, log.ErrFailed.
func (p *Partition) Follow(f Follower, ready func(t Tail)) error { panic("topic: Follow") }

// Exclusive calls f with the partition's lock held, so that nothing is appended meanwhile but by f. Errors: f's,
// ErrNotFound, log.ErrFailed, log.ErrClosed.
func (p *Partition) Exclusive(f func(t Tail) error) error { panic("topic: Exclusive") }

// Append appends a batch that the broker made itself: neither the topic's settings nor a producer's sequence are
// checked, and the follower is told. It does not wait: see WaitDurable. Errors: the log's.
func (t Tail) Append(b log.Batch) (log.Appended, error) { panic("topic: Tail.Append") }

// End is the offset of the next record.
func (t Tail) End() int64 { panic("topic: End") }

// Erase deletes single records, for the readers of both protocols: reads leave them out from the moment it returns, and
// compaction takes them off the disk. Their offsets are not given out again. With sync set they stay erased after a power
// failure when it returns; without, they are on disk soon after. Offsets that hold nothing are ignored. Errors: the
// log's, ErrNotFound.
func (p *Partition) Erase(offsets []int64, sync bool) error { panic("topic: Erase") }
