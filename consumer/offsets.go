package consumer

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/consumer/store"
)

// Commit saves offsets. The answer, an error for each of them, comes when they are synced.
// Errors for one: ErrMetadataTooLarge, ErrUnknownPartition, ErrInvalidOffset. Errors for all: ErrInvalidGroupID,
// ErrNotFound when there is no group and the request claims to come from a member, ErrUnknownMember, ErrFencedInstance,
// ErrIllegalGeneration, ErrRebalanceInProgress, ErrStorage; from consumer groups also ErrClientTooOld and ErrStaleEpoch,
// the latter for one or for all.
func (g *Groups) Commit(r *CommitRequest) Wait[[]error] {
	if err := checkGroupID(r.Group); err != nil {
		return ready[[]error](nil, err)
	}
	if d, ok := g.durable(r.Group); ok {
		return g.commitDurable(d, r)
	}
	errs, puts := g.prepareCommit(r)
	var e *entry
	if r.Generation < 0 && len(puts) > 0 {
		e = g.lockNew(r.Group)
	} else {
		e = g.lock(r.Group)
	}
	if e == nil {
		if r.Generation < 0 {
			return ready(errs, nil)
		}
		return ready[[]error](nil, ErrNotFound)
	}
	defer e.mu.Unlock()
	allowed, err := e.group.mayCommit(r, time.Now())
	if err != nil {
		return ready[[]error](nil, err)
	}
	puts = slices.DeleteFunc(puts, func(p offsetPut) bool {
		errs[p.index] = allowed(place{p.stored.topic, p.partition})
		return errs[p.index] != nil
	})
	if len(puts) == 0 {
		return ready(errs, nil)
	}
	w := g.putOffsets(e, puts)
	return func(ctx context.Context) ([]error, error) { return errs, w.Wait(ctx) }
}

// offsetPut is one offset to save.
type offsetPut struct {
	index     int // in the request
	topic     string
	partition int32
	stored
}

// prepareCommit checks each offset by itself.
func (g *Groups) prepareCommit(r *CommitRequest) ([]error, []offsetPut) {
	errs := make([]error, len(r.Offsets))
	puts := make([]offsetPut, 0, len(r.Offsets))
	at := time.Now().Truncate(time.Millisecond)
	for i, c := range r.Offsets {
		t, ok := g.topics.Find(c.Topic)
		switch {
		case !ok || c.Partition < 0 || c.Partition >= t.Partitions:
			errs[i] = ErrUnknownPartition
		case len(c.Metadata) > MaxMetadata:
			errs[i] = ErrMetadataTooLarge
		case c.Offset.Offset < 0:
			errs[i] = ErrInvalidOffset
		default:
			c.Time = at
			puts = append(puts, offsetPut{i, c.Topic, c.Partition, stored{c.Offset, t.ID}})
		}
	}
	return errs, puts
}

// putOffsets queues offsets of e's group. They are seen by readers once they are on disk.
func (g *Groups) putOffsets(e *entry, puts []offsetPut) *store.Write {
	e.queued++
	put := func(tx *bbolt.Tx) error {
		b := tx.Bucket(offsetsBucket)
		for _, p := range puts {
			if err := b.Put(offsetKey(e.id, p.topic, p.partition), encodeOffset(p.stored)); err != nil {
				return err
			}
		}
		return nil
	}
	return g.store.Add(put, func(err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.queued--
		if err != nil {
			return
		}
		for _, p := range puts {
			e.setOffset(p.topic, p.partition, p.stored)
		}
	})
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// DeleteOffsets forgets offsets. The answer comes when that is synced: an error for each, nil or ErrSubscribed. Errors
// for all: ErrNotFound; ErrNonEmpty when a group that has members does not say what it is subscribed to.
func (g *Groups) DeleteOffsets(group string, list []TopicPartition) Wait[[]error] {
	if _, ok := g.durable(group); ok {
		errs := make([]error, len(list))
		for i := range errs {
			errs[i] = fmt.Errorf("%w: it is a durable consumer", ErrSubscribed)
		}
		return ready(errs, nil)
	}
	e := g.lock(group)
	if e == nil {
		return ready[[]error](nil, ErrNotFound)
	}
	defer e.mu.Unlock()
	subscribed, ok := e.group.subscribed(g.catalogs.current())
	if !ok {
		return ready[[]error](nil, ErrNonEmpty)
	}
	errs := make([]error, len(list))
	var gone []TopicPartition
	for i, tp := range list {
		if subscribed[tp.Topic] {
			errs[i] = ErrSubscribed
		} else {
			gone = append(gone, tp)
		}
	}
	w := g.dropOffsets(e, gone)
	return func(ctx context.Context) ([]error, error) { return errs, w.Wait(ctx) }
}

// dropOffsets queues the deletion of offsets of e's group.
func (g *Groups) dropOffsets(e *entry, gone []TopicPartition) *store.Write {
	keys := make([][]byte, len(gone))
	for i, tp := range gone {
		keys[i] = offsetKey(e.id, tp.Topic, tp.Partition)
	}
	e.queued++
	return g.store.Add(func(tx *bbolt.Tx) error { return deleteKeys(tx.Bucket(offsetsBucket), keys) }, func(err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.queued--
		if err != nil {
			return
		}
		for _, tp := range gone {
			e.deleteOffset(tp.Topic, tp.Partition)
		}
	})
}

// Committed returns a group's position in one partition.
func (g *Groups) Committed(group, topic string, partition int32) (Offset, bool) {
	if d, ok := g.durable(group); ok {
		return d.Offset, d.Topic == topic && d.Partition == partition
	}
	t, exists := g.topics.Find(topic)
	e := g.lock(group)
	if e == nil {
		return Offset{}, false
	}
	defer e.mu.Unlock()
	s, ok := e.offsets[topic][partition]
	if !ok || !exists || s.topic != t.ID {
		return Offset{}, false
	}
	return s.Offset, true
}

// Offsets returns all positions of a group, ordered by topic and partition; none for a group that does not exist.
func (g *Groups) Offsets(group string) []Committed {
	if d, ok := g.durable(group); ok {
		return []Committed{d.Committed}
	}
	e := g.lock(group)
	if e == nil {
		return nil
	}
	defer e.mu.Unlock()
	return g.committed(e)
}

// AllOffsets returns every group that exists with its positions: durable consumers, and then the others, each ordered by
// group id.
func (g *Groups) AllOffsets() iter.Seq2[string, []Committed] {
	return func(yield func(string, []Committed) bool) {
		hidden := map[string]bool{}
		for _, d := range g.eachDurable() {
			hidden[d.Group] = true
			if !yield(d.Group, []Committed{d.Committed}) {
				return
			}
		}
		for _, e := range g.all() {
			if hidden[e.id] {
				continue
			}
			e.mu.Lock()
			list := g.committed(e)
			e.mu.Unlock()
			if !yield(e.id, list) {
				return
			}
		}
	}
}

// committed lists the offsets of e whose topic is still there.
func (g *Groups) committed(e *entry) []Committed {
	var list []Committed
	for name, partitions := range e.offsets {
		t, ok := g.topics.Find(name)
		for n, s := range partitions {
			if ok && s.topic == t.ID {
				list = append(list, Committed{name, n, s.Offset})
			}
		}
	}
	slices.SortFunc(list, func(a, b Committed) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}
