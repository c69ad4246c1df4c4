package topic

import (
	"context"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/log/vfs/ramfs"
)

// storage is where the logs of a topic live. Topics in memory (Spec.Memory) have their own: they are not in the metadata,
// and what is appended may be acknowledged and read at once. Otherwise they are topics like all others.
type storage struct {
	fs        vfs.FS
	committer *log.Committer // of this file system alone: one syncfs stands for many logs
}

// newMemory makes the storage of topics in memory, with the same directories as on the disk.
func newMemory(limit int64, dir string) (storage, error) {
	s := storage{ramfs.New(limit), log.NewCommitter(log.CommitterOptions{})}
	if err := s.fs.MkdirAll(path.Join(dir, topicsDir)); err != nil {
		return s, fmt.Errorf("topic: prepare for topics in memory: %w", err)
	}
	return s, nil
}

// storage is where a topic's logs live.
func (r *Registry) storage(t *Topic) storage {
	if t.memory {
		return r.memory
	}
	return storage{r.o.FS, r.o.Committer}
}

// doom marks the directory of a topic that is about to be made.
func (r *Registry) doom(t *Topic) error {
	if t.memory {
		return nil
	}
	return r.store.doom(t.id, t.name)
}

// save stores a topic with the given state; from here on it exists.
func (r *Registry) save(t *Topic, s *state) error {
	if t.memory {
		return nil
	}
	return r.store.put(t.id, t.record(s))
}

// unsave undoes save, and dooms the directory.
func (r *Registry) unsave(t *Topic) error {
	if t.memory {
		return nil
	}
	return r.store.remove(t.id, t.name)
}

// clear removes the directory of a topic that does not exist any more, or not yet.
func (r *Registry) clear(t *Topic) {
	if t.memory {
		_ = r.memory.fs.RemoveAll(r.dir(t.id)) // which does not fail
		return
	}
	r.sweep(t.id)
}

// Run applies retention, rolls segments by age and expires producers until ctx is done.
func (r *Registry) Run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return r.memory.committer.Run(ctx) })
	group.Go(func() error { return rounds(ctx, r.o.RetainEach, r.retain) })
	return group.Wait()
}
