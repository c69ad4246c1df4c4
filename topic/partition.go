package topic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"brokerd/log"
	"brokerd/producer"
)

// Partition is one partition of a topic: a log, and the sequences of its idempotent producers.
type Partition struct {
	topic   *Topic
	index   int32
	log     *log.Log // nil when it could not be opened
	fault   error    // why
	found   log.Recovery
	deleted atomic.Bool

	compactions atomic.Pointer[Compactions] // nil until the first round

	// mu makes the duplicate check, the append and the record of it one step; the log, once open, calls the table only
	// under it, or when nothing is appended any more.
	mu       sync.Mutex
	table    *producer.Table // guarded by mu
	follower Follower        // guarded by mu; nil when nobody follows
	stamped  int64           // guarded by mu: the last LogAppendTime given out, in milliseconds
	closed   bool            // guarded by mu: nothing is appended any more
}

func newPartition(t *Topic, index int32) *Partition {
	return &Partition{topic: t, index: index, table: producer.NewTable()}
}

// open opens the log in the topic's directory. It is called once, before anybody else sees the partition.
func (p *Partition) open(o Options, in storage, topicDir string) (log.Recovery, error) {
	l, found, err := log.Open(log.Options{
		FS:         in.fs,
		Dir:        partitionDir(topicDir, p.index),
		Committer:  in.committer,
		Files:      o.Files,
		Config:     p.logConfig(p.topic.Config()),
		Projection: p.table,
		OnDamage:   func(damage log.CorruptError) { reportDamage(o.Logger, p, damage) },
	})
	if err != nil {
		return found, err
	}
	p.log, p.found = l, found
	return found, nil
}

// fail makes the partition answer everything with the reason why it could not be opened.
func (p *Partition) fail(err error) {
	p.fault = fmt.Errorf("topic: %s-%d is offline: %w: %v", p.topic.name, p.index, log.ErrFailed, err)
}

// configure applies new settings to the log.
func (p *Partition) configure(c Config) {
	if p.log != nil {
		p.log.SetConfig(p.logConfig(c))
	}
}

// logConfig are the settings of the log. In memory there is no sync to wait for.
func (p *Partition) logConfig(c Config) log.Config {
	if p.topic.memory {
		c.Log.Durability = log.Async
	}
	return jittered(c)
}

// jittered takes a random part of SegmentJitter off the age at which segments roll.
func jittered(c Config) log.Config {
	if jitter := min(c.SegmentJitter, c.Log.SegmentAge-1); jitter > 0 {
		c.Log.SegmentAge -= rand.N(jitter + 1)
	}
	return c.Log
}

// close closes the log cleanly. It stops the appends first: the log takes a last snapshot of the table.
func (p *Partition) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	if p.log == nil {
		return nil
	}
	return p.log.Close()
}

// remove deletes the log. Whoever waits on it is woken and sees ErrNotFound. What cannot be deleted is left to sweep.
func (p *Partition) remove() {
	p.deleted.Store(true)
	if p.log != nil {
		p.log.Remove()
	}
}

// ready says why nothing can be done with the partition: ErrNotFound, or log.ErrFailed when it is offline.
func (p *Partition) ready() error {
	if p.deleted.Load() {
		return ErrNotFound
	}
	return p.fault
}

// explain turns the log's ErrClosed into ErrNotFound when the topic was deleted.
func (p *Partition) explain(err error) error {
	if err != nil && errors.Is(err, log.ErrClosed) && p.deleted.Load() {
		return ErrNotFound
	}
	return err
}

// Topic is the topic it belongs to.
func (p *Partition) Topic() *Topic { return p.topic }

// Index is its number, from 0.
func (p *Partition) Index() int32 { return p.index }

// WaitDurable returns when the record at offset may be acknowledged. Errors: the log's, ErrNotFound after deletion, or
// ctx's.
func (p *Partition) WaitDurable(ctx context.Context, offset int64) error {
	if err := p.ready(); err != nil {
		return err
	}
	return p.explain(p.log.WaitDurable(ctx, offset))
}

// Watch sends to ch after every move of a watermark, a change of settings, a failure, a close or the deletion
// (log.Log.Watch).
func (p *Partition) Watch(ch chan<- struct{}) (cancel func()) {
	if p.log == nil {
		return func() {}
	}
	return p.log.Watch(ch)
}

// Bounds returns the watermarks. Errors: ErrNotFound after deletion, log.ErrFailed when the partition is offline.
func (p *Partition) Bounds() (log.Bounds, error) {
	if err := p.ready(); err != nil {
		return log.Bounds{}, err
	}
	return p.log.Bounds(), nil
}

// Epoch is the leader epoch of new batches; 0 when the partition is offline.
func (p *Partition) Epoch() int32 {
	if p.log == nil {
		return 0
	}
	return p.log.Epoch()
}

// EpochEnd answers OffsetForLeaderEpoch (log.Log.EpochEnd); -1, -1 when the partition is offline.
func (p *Partition) EpochEnd(epoch int32) (int32, int64) {
	if p.log == nil {
		return -1, -1
	}
	return p.log.EpochEnd(epoch)
}

// Size is the bytes of all batches on disk.
func (p *Partition) Size() int64 {
	if p.log == nil {
		return 0
	}
	return p.log.Size()
}

// Err is why the partition takes no appends: it is offline, or its log failed; nil when all is well.
func (p *Partition) Err() error {
	if err := p.ready(); err != nil {
		return err
	}
	return p.log.Err()
}

// Recovery is what was found and done when the log was opened.
func (p *Partition) Recovery() log.Recovery { return p.found }

// Damaged lists the damaged ranges found so far: their records are withheld.
func (p *Partition) Damaged() []log.CorruptError {
	if p.log == nil {
		return nil
	}
	return p.log.Damaged()
}

// Producers lists the partition's idempotent producers.
func (p *Partition) Producers() []producer.Producer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.List()
}

// Trim deletes records below offset (Kafka's DeleteRecords) and returns the new start; -1 trims to Durable.
// Errors: *log.RangeError above Durable, ErrPolicy unless cleanup.policy has delete, ErrNotFound, and the log's.
func (p *Partition) Trim(offset int64) (start int64, err error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	if !p.topic.Config().Delete {
		return 0, fmt.Errorf("%w: %s does not delete", ErrPolicy, p.topic.name)
	}
	if offset == -1 {
		offset = p.log.Bounds().Durable
	}
	if err := p.Discard(offset); err != nil {
		return 0, err
	}
	return p.log.Bounds().Start, nil
}

// Discard deletes records below offset, durably, for the broker itself: whatever cleanup.policy says. Errors:
// *log.RangeError above Durable, ErrNotFound, and the log's.
func (p *Partition) Discard(offset int64) error {
	if err := p.ready(); err != nil {
		return err
	}
	err := p.log.Trim(offset)
	p.tellTrimmed() // also after an error: Start may have moved
	return p.explain(err)
}

// Advance deletes everything and lets the partition go on at offset, durably; nothing below it is ever given out again.
// Errors: *log.RangeError below the end, ErrNotFound, and the log's.
func (p *Partition) Advance(offset int64) error {
	if err := p.ready(); err != nil {
		return err
	}
	err := p.log.Advance(offset)
	p.tellTrimmed()
	return p.explain(err)
}

// retain applies retention and forgets producers that were silent for longer than expiry. Appends do not wait for
// retention, which takes no snapshot of the table.
func (p *Partition) retain(now time.Time, expiry time.Duration) (log.Retention, error) {
	if p.ready() != nil {
		return log.Retention{}, nil
	}
	p.mu.Lock()
	if !p.closed {
		p.table.Expire(now, expiry)
	}
	p.mu.Unlock()
	did, err := p.log.Retain(now)
	p.tellTrimmed()
	return did, p.explain(err)
}
