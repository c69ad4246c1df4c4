package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Open loads the topics and opens and recovers their logs, several at a time. Damage to one topic never stops the
// others: it is reported through the logger and the topic's partitions answer with the error.
// Errors: ErrNewerFormat, ErrBadConfig for Options.Defaults, ctx's, and those of a database or a data directory that
// cannot be read at all.
func Open(ctx context.Context, o Options) (*Registry, error) {
	if o.RetainEach == 0 {
		o.RetainEach = defaultRetainEach
	}
	o.CompactEach = cmp.Or(o.CompactEach, defaultCompactEach)
	o.CompactMemory = cmp.Or(o.CompactMemory, defaultCompactMemory)
	o.MemoryLimit = cmp.Or(o.MemoryLimit, defaultMemoryLimit)
	if o.Defaults.ProducerIDExpiry == 0 {
		o.Defaults.ProducerIDExpiry = defaultExpiry
	}
	if o.Defaults.Partitions == 0 {
		o.Defaults.Partitions = 1
	}
	r := &Registry{
		o:      o,
		turn:   make(chan struct{}, 1),
		byName: make(map[string]*Topic),
		byID:   make(map[ID]*Topic),
		folded: make(map[string]*Topic),
	}
	var err error
	if r.memory, err = newMemory(o.MemoryLimit, o.Dir); err != nil {
		return nil, err
	}
	if r.broker, err = parseOverrides(o.Defaults.Settings); err != nil {
		return nil, err
	}
	if _, err = (levels{broker: r.broker}).config(); err != nil {
		return nil, err
	}
	if r.store, err = openStore(o.DB); err != nil {
		return nil, err
	}
	if err := r.openDisk(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openDisk finishes interrupted deletions, loads the topics and opens their logs.
func (r *Registry) openDisk(ctx context.Context) error {
	root := path.Join(r.o.Dir, topicsDir)
	if err := r.o.FS.MkdirAll(root); err != nil {
		return fmt.Errorf("topic: make %s: %w", root, err)
	}
	if err := r.o.FS.SyncDir(r.o.Dir); err != nil {
		return fmt.Errorf("topic: make %s durable: %w", root, err)
	}
	doomed, err := r.store.doomed()
	if err != nil {
		return fmt.Errorf("topic: read the deleted topics: %w", err)
	}
	for _, id := range doomed {
		r.sweep(id)
	}
	known := make(map[string]bool, len(doomed))
	for _, id := range doomed {
		known[id.String()] = true
	}
	var counts []int32
	var loaded []*Topic
	err = r.store.load(func(id ID, rec record, err error) {
		known[id.String()] = true
		if t := r.revive(id, rec, err); t != nil {
			loaded, counts = append(loaded, t), append(counts, rec.Partitions)
		}
	})
	if err != nil {
		return fmt.Errorf("topic: read the topics: %w", err)
	}
	if err := r.reportStrangers(root, known); err != nil {
		return err
	}
	return r.openLogs(ctx, loaded, counts)
}

// revive makes a topic of its record, without its partitions, or reports why it cannot.
func (r *Registry) revive(id ID, rec record, err error) *Topic {
	if err == nil {
		err = checkName(rec.Name)
	}
	if err == nil && (rec.Partitions < 1 || rec.Partitions > maxPartitions) {
		err = fmt.Errorf("%w: %d", ErrBadPartitions, rec.Partitions)
	}
	if _, taken := r.Get(rec.Name); err == nil && taken {
		err = fmt.Errorf("%w: %s", ErrExists, rec.Name)
	}
	if err != nil {
		r.o.Logger.Error().Err(err).Str("topic", rec.Name).Str("dir", r.dir(id)).
			Msg("the metadata of a topic is damaged: it is not served, its files are kept; restore the metadata from a copy")
		return nil
	}
	settings := r.keepValid(rec)
	config, err := levels{topic: settings, broker: r.broker}.config()
	if err != nil {
		r.o.Logger.Error().Err(err).Str("topic", rec.Name).
			Msg("the topic's settings contradict each other or the broker's: the defaults are used; correct them")
		config, _ = levels{broker: r.broker}.config()
	}
	t := &Topic{id: id, name: rec.Name, created: rec.Created, broker: r.broker}
	t.state.Store(&state{settings: settings, config: config, stream: rec.Stream})
	r.add(t)
	return t
}

// keepValid returns the stored settings that this release understands, and reports the others.
func (r *Registry) keepValid(rec record) overrides {
	valid := make(overrides, len(rec.Settings))
	for _, name := range slices.Sorted(maps.Keys(rec.Settings)) {
		one, err := parseOverrides(map[string]string{name: rec.Settings[name]})
		if err != nil {
			r.o.Logger.Warn().Err(err).Str("topic", rec.Name).
				Msg("a stored setting is not understood: the default is used; set it again")
			continue
		}
		valid[name] = one[name]
	}
	return valid
}

// reportStrangers warns of directories that the metadata does not know. They are never touched: what looks like
// rubbish may be all that is left after the metadata was lost.
func (r *Registry) reportStrangers(root string, known map[string]bool) error {
	entries, err := r.o.FS.List(root)
	if err != nil {
		return fmt.Errorf("topic: list %s: %w", root, err)
	}
	for _, e := range entries {
		if !known[e.Name] {
			r.o.Logger.Warn().Str("dir", path.Join(root, e.Name)).
				Msg("a directory belongs to no known topic: it is kept and not served; restore the metadata that names it, or delete it")
		}
	}
	return nil
}

// openLogs opens the partitions of all topics, several at a time.
func (r *Registry) openLogs(ctx context.Context, topics []*Topic, counts []int32) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelLogs)
	total := 0
	for _, n := range counts {
		total += int(n)
	}
	done := newProgress(r.o.Logger, total, time.Now())
	for i, t := range topics {
		next := *t.state.Load()
		for n := range counts[i] {
			next.partitions = append(next.partitions, newPartition(t, n))
		}
		t.state.Store(&next)
		present := r.listDir(r.dir(t.id))
		for _, p := range next.partitions {
			group.Go(func() error {
				if ctx.Err() == nil {
					r.reopen(p, present)
					done.add(time.Now())
				}
				return ctx.Err()
			})
		}
	}
	return group.Wait()
}

// reopen opens a partition that existed before. A missing directory is not made anew: the log would start at offset 0
// again, and give out offsets that consumers have already seen.
func (r *Registry) reopen(p *Partition, present map[string]bool) {
	dir := partitionDir(r.dir(p.topic.id), p.index)
	if !present[path.Base(dir)] {
		p.fail(fmt.Errorf("%s: %w", dir, fs.ErrNotExist))
		r.o.Logger.Error().Str("topic", p.topic.name).Int32("partition", p.index).Str("dir", dir).
			Msg("the directory of a partition is missing: the partition is offline, all others are served; restore it from a copy, or delete the topic")
		return
	}
	found, err := p.open(r.o, r.storage(p.topic), r.dir(p.topic.id))
	if err != nil {
		p.fail(err)
		r.o.Logger.Error().Err(err).Str("topic", p.topic.name).Int32("partition", p.index).
			Msg("a partition could not be opened: it is offline, its files are kept, all others are served; remove the cause and restart")
		return
	}
	reportRecovery(r.o.Logger, p, found)
}

// listDir returns the names in a directory; none when it cannot be read.
func (r *Registry) listDir(dir string) map[string]bool {
	names := make(map[string]bool)
	entries, err := r.o.FS.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.o.Logger.Error().Err(err).Str("dir", dir).Msg("the directory of a topic cannot be read")
	}
	for _, e := range entries {
		names[e.Name] = true
	}
	return names
}
