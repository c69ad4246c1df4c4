package topic

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
)

// grow makes the partitions that t lacks up to total, which begin at offset first, stores the topic with them, and shows
// them. After an error nothing of it is left; the directory of a topic that has none yet is the caller's to clear.
func (r *Registry) grow(t *Topic, total int32, first int64) error {
	old := t.state.Load()
	if err := r.makeDir(t); err != nil {
		return err
	}
	added, err := r.makePartitions(t, int32(len(old.partitions)), total, first)
	if err == nil {
		next := &state{settings: old.settings, config: old.config, stream: old.stream}
		next.partitions = append(append(next.partitions, old.partitions...), added...)
		if err = r.save(t, next); err == nil {
			t.state.Store(next)
			r.version.Add(1)
			return nil
		}
	}
	for _, p := range added {
		p.remove()
		r.storage(t).fs.RemoveAll(partitionDir(r.dir(t.id), p.index)) // also when its log could not be opened
	}
	return err
}

// makeDir makes a topic's directory, durably.
func (r *Registry) makeDir(t *Topic) error {
	if err := r.storage(t).fs.MkdirAll(r.dir(t.id)); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	if err := r.storage(t).fs.SyncDir(path.Join(r.o.Dir, topicsDir)); err != nil {
		return fmt.Errorf("make the directory durable: %w", err)
	}
	return nil
}

// makePartitions opens new, empty logs for the partitions from to total-1, several at a time. Those that were made are
// returned even after an error.
func (r *Registry) makePartitions(t *Topic, from, total int32, first int64) ([]*Partition, error) {
	var (
		group errgroup.Group
		mu    sync.Mutex
		made  = make([]*Partition, 0, total-from)
		errs  []error
	)
	group.SetLimit(parallelLogs)
	for n := from; n < total; n++ {
		p := newPartition(t, n)
		made = append(made, p)
		group.Go(func() error {
			_, err := p.open(r.o, r.storage(t), r.dir(t.id))
			if err == nil && first > 0 {
				err = p.log.Advance(first)
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			return nil
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return made, fmt.Errorf("make the partitions: %w", err)
	}
	if err := r.storage(t).fs.SyncDir(r.dir(t.id)); err != nil {
		return made, fmt.Errorf("make the partitions durable: %w", err)
	}
	return made, nil
}

// sweep removes a doomed directory on the disk. It may be repeated: what it cannot do now is done at the next start.
func (r *Registry) sweep(id ID) {
	err := r.o.FS.RemoveAll(r.dir(id))
	if err == nil {
		err = r.o.FS.SyncDir(path.Join(r.o.Dir, topicsDir))
	}
	if err == nil {
		err = r.store.forget(id)
	}
	if err != nil {
		r.o.Logger.Warn().Err(err).Str("dir", r.dir(id)).
			Msg("the directory of a deleted topic could not be removed; nothing uses it, its removal is tried again at the next start")
	}
}

// partitionDir is the directory of partition n in a topic's directory.
func partitionDir(topicDir string, n int32) string {
	return path.Join(topicDir, strconv.Itoa(int(n)))
}
