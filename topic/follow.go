package topic

import (
	"time"

	"brokerd/log"
)

// Follower sees everything that happens to the records of a partition. Its methods are called with the partition's lock
// held: they do not wait for anything, and call nothing of the partition but the Tail they are given.
type Follower interface {
	// Admit may refuse a batch of a Kafka producer, and may append what must come before it. The batch is no duplicate, and
	// has neither its offsets nor the broker's time yet.
	Admit(t Tail, b log.Batch) error
	// Appended tells of a batch that is now in the log, whoever appended it. Its offsets are set. Records in it are valid
	// during the call.
	Appended(b log.Batch)
	// Trimmed tells that everything below start is gone: by retention, or by DeleteRecords. It may be told again.
	Trimmed(start int64)
	// Removed tells that compaction took a record away that was not erased before.
	Removed(offset int64)
}

// Tail is exclusive access to the end of a partition. It is valid only during the call that it was given to.
type Tail struct{ p *Partition }

// Follow makes f the partition's only follower and calls it with everything from then on; ready is called first, with the
// partition's lock held. A nil f ends that. Errors: ErrNotFound, log.ErrFailed, log.ErrClosed; then nothing was called.
func (p *Partition) Follow(f Follower, ready func(t Tail)) error {
	return p.Exclusive(func(t Tail) error {
		p.follower = f
		ready(t)
		return nil
	})
}

// Exclusive calls f with the partition's lock held, so that nothing is appended meanwhile but by f. A log that failed can
// still be read, and so f is called. Errors: f's, ErrNotFound, log.ErrFailed when the partition is offline, log.ErrClosed.
func (p *Partition) Exclusive(f func(t Tail) error) error {
	if err := p.ready(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.explain(log.ErrClosed)
	}
	return f(Tail{p})
}

// Append appends a batch that the broker made itself: neither the topic's settings nor a producer's sequence are
// checked, and the follower is told. It does not wait: see WaitDurable. Errors: the log's, ErrNotFound.
func (t Tail) Append(b log.Batch) (log.Appended, error) { return t.p.append(b) }

// End is the offset of the next record.
func (t Tail) End() int64 { return t.p.log.Bounds().End }

// Discard deletes the records below offset without waiting: they are gone for readers at once, and after a power failure
// within about a second they may be back. The follower is not told. Errors: *log.RangeError above Durable, and the log's.
func (t Tail) Discard(offset int64) error { return t.p.explain(t.p.log.TrimSoon(offset)) }

// Erase is Partition.Erase without sync.
func (t Tail) Erase(offsets []int64) error { return t.p.explain(t.p.log.Erase(offsets, false)) }

// append writes b, and tells the producer table, the counters and the follower of it. p.mu is held.
func (p *Partition) append(b log.Batch) (log.Appended, error) {
	at, err := p.log.Append(b)
	if err != nil {
		return at, p.explain(err)
	}
	p.table.Commit(b, time.Now())
	p.topic.stats.RecordsIn.Add(int64(b.Count()))
	p.topic.stats.BytesIn.Add(b.Size())
	if p.follower != nil {
		p.follower.Appended(b)
	}
	return at, nil
}

// tellTrimmed tells the follower where the log begins now.
func (p *Partition) tellTrimmed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.follower != nil {
		p.follower.Trimmed(p.log.Bounds().Start)
	}
}
