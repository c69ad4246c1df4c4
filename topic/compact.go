package topic

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"brokerd/log"
)

// Compactions is what compaction did with a partition since the process started.
type Compactions struct {
	Last    time.Time     // when the last round that went well began; zero when there was none
	Took    time.Duration // how long that took
	Records int64         // removed by all rounds
	Bytes   int64         // reclaimed by all rounds
	Err     error         // why the last round did not go well; it is tried again
}

// Compact compacts the logs of topics with cleanup.policy=compact, and takes erased records off the disk, until ctx is
// done. It works on one log at a time, so
// that it takes one processor and the memory for one set of keys at most, and begins with the dirtiest.
func (r *Registry) Compact(ctx context.Context) error {
	return rounds(ctx, r.o.CompactEach, r.compactAll)
}

// compactAll gives every partition that is due one round. A round that fails is tried again by the next call, and does
// not keep the other partitions from theirs.
func (r *Registry) compactAll(ctx context.Context, said *complaints) {
	defer said.endPass()
	for _, p := range r.dirty(time.Now()) {
		if ctx.Err() != nil {
			return
		}
		did, err := p.compact(ctx, r.o.CompactMemory)
		logger := r.o.Logger.With().Str("topic", p.topic.name).Int32("partition", p.index).Logger()
		if err != nil {
			if said.news(p, err) {
				logger.Error().Err(err).
					Msg("compaction failed: all records are kept, it is tried again; check the disk")
			}
			continue
		}
		logger.Debug().Int64("records", did.Records).Int64("bytes", did.Bytes).Int("passes", did.Passes).
			Msg("compacted: records that were deleted, and those that newer ones replace, were taken off the disk")
	}
}

// dirty lists the partitions that are due for compaction, the dirtiest first.
func (r *Registry) dirty(now time.Time) []*Partition {
	var due []*Partition
	ratio := make(map[*Partition]float64)
	for _, t := range r.List() {
		c := t.Config()
		for _, p := range t.Partitions() {
			d := p.Dirt(now)
			if c.Compact && c.Compaction.due(d, now) || p.reclaimable(c.Compaction.DirtyRatio) {
				due, ratio[p] = append(due, p), d.Ratio()
			}
		}
	}
	slices.SortStableFunc(due, func(a, b *Partition) int { return cmp.Compare(ratio[b], ratio[a]) })
	return due
}

// due says whether a log is dirty enough, or dirty for long enough.
func (c Compaction) due(d log.Dirt, now time.Time) bool {
	return d.Dirty > 0 && (d.Ratio() > c.DirtyRatio || c.MaxLag >= 0 && now.Sub(d.Since) >= c.MaxLag)
}

// Dirt is what compaction would work on now. It is empty for a partition that is offline, and for one whose keys do not
// matter.
func (p *Partition) Dirt(now time.Time) log.Dirt {
	c := p.topic.Config()
	if p.ready() != nil || !c.Compact {
		return log.Dirt{}
	}
	return p.log.Dirt(now, c.Compaction.MinLag)
}

// reclaimable says that a segment is worth to be written anew for the sake of erased records.
func (p *Partition) reclaimable(share float64) bool {
	return p.ready() == nil && p.log.Reclaimable(share)
}

// tellRemoved tells the follower which records compaction has removed.
func (p *Partition) tellRemoved(offsets iter.Seq[int64]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.follower == nil {
		return
	}
	for offset := range offsets {
		p.follower.Removed(offset)
	}
}

// Compactions tells what compaction did so far.
func (p *Partition) Compactions() Compactions {
	if c := p.compactions.Load(); c != nil {
		return *c
	}
	return Compactions{}
}

// sequenced are the base offsets of the batches that the producer table knows.
func (p *Partition) sequenced() map[int64]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.Batches()
}

// compact runs one round. Only one is run at a time.
func (p *Partition) compact(ctx context.Context, memory int64) (log.Compacted, error) {
	if err := p.ready(); err != nil {
		return log.Compacted{}, nil
	}
	c, began := p.topic.Config(), time.Now()
	did, err := p.log.Compact(ctx, began, log.Compaction{
		MinLag:       c.Compaction.MinLag,
		TombstoneAge: c.Compaction.DeleteRetention,
		KeyMemory:    memory,
		UnpackLimit:  max(unpackLimit, int(c.MaxMessageBytes)),
		Keep:         p.sequenced,
		ErasedOnly:   !c.Compact,
		ErasedShare:  c.Compaction.DirtyRatio,
		Removed:      p.tellRemoved,
	})
	if ctx.Err() != nil || errors.Is(err, log.ErrClosed) { // the broker stops, or the topic was deleted
		return did, nil
	}
	sum := p.Compactions()
	sum.Records += did.Records
	sum.Bytes += max(did.Bytes, 0)
	sum.Err = err
	if err == nil {
		sum.Last, sum.Took = began, time.Since(began)
	}
	p.compactions.Store(&sum)
	return did, err
}
