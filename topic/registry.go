package topic

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"brokerd/log"
	"brokerd/log/vfs"
)

const (
	// topicsDir is where topics live in the data directory, one directory each, named by id.
	topicsDir = "topics"
	// parallelLogs is how many logs are opened or closed at the same time.
	parallelLogs = 16

	defaultRetainEach    = 10 * time.Second
	defaultExpiry        = 24 * time.Hour
	defaultCompactEach   = 15 * time.Second
	defaultCompactMemory = 64 << 20
	defaultMemoryLimit   = 1 << 30
)

// Options is what a Registry is opened with.
type Options struct {
	DB         *bbolt.DB
	FS         vfs.FS
	Dir        string // the data directory; topics live in Dir/topics
	Committer  *log.Committer
	Files      *log.Files
	Defaults   Defaults
	Logger     zerolog.Logger
	RetainEach time.Duration // between retention passes; 0 takes 10s

	CompactEach   time.Duration // between looks for logs to compact; 0 takes 15s
	CompactMemory int64         // bytes for the keys of the log that is compacted; 0 takes 64 MiB

	MemoryLimit int64 // bytes for all topics in memory (Spec.Memory); 0 takes 1 GiB
}

// Defaults are what a topic has when its creator did not say.
type Defaults struct {
	Partitions       int32             // for creations that leave it out (-1), and automatic ones; 0 takes 1
	Settings         map[string]string // by Kafka's topic setting names; checked by Open
	ProducerIDExpiry time.Duration     // 0 takes 24h
}

// Registry is the set of topics.
type Registry struct {
	o      Options
	broker overrides // Options.Defaults.Settings, parsed
	store  store
	memory storage // of topics in memory

	// turn is taken by whoever changes the set of topics or a topic's state: changes are made one at a time, each one
	// on disk before it is seen. It is not a mutex, since it is held while that happens. Readers never wait for it.
	turn    chan struct{}
	closed  bool                           // guarded by turn
	changed []func(t *Topic, deleted bool) // guarded by turn: see OnChange

	mu     sync.RWMutex
	byName map[string]*Topic // guarded by mu
	byID   map[ID]*Topic     // guarded by mu
	folded map[string]*Topic // guarded by mu: by fold of the name

	version atomic.Uint64
}

// Version grows whenever a topic is made, is deleted or gets more partitions, after readers can see it.
func (r *Registry) Version() uint64 { return r.version.Load() }

// Get finds a topic by name.
func (r *Registry) Get(name string) (*Topic, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.byName[name]
	return t, ok
}

// ByID finds a topic by id.
func (r *Registry) ByID(id ID) (*Topic, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.byID[id]
	return t, ok
}

// List returns all topics ordered by name.
func (r *Registry) List() []*Topic {
	r.mu.RLock()
	list := make([]*Topic, 0, len(r.byName))
	for _, t := range r.byName {
		list = append(list, t)
	}
	r.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Topic) int { return cmp.Compare(a.name, b.name) })
	return list
}

// Close closes every log cleanly. A change that is being made is waited for; none can be made afterwards. A second call
// does nothing.
func (r *Registry) Close() error {
	if r.take() != nil {
		return nil
	}
	defer r.give()
	r.closed = true
	var (
		group errgroup.Group
		mu    sync.Mutex
		errs  []error
	)
	group.SetLimit(parallelLogs)
	for _, t := range r.List() {
		for _, p := range t.Partitions() {
			group.Go(func() error {
				if err := p.close(); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("topic: close %s-%d: %w", t.name, p.index, err))
					mu.Unlock()
				}
				return nil
			})
		}
	}
	group.Wait()
	return errors.Join(errs...)
}

// add makes a topic visible.
func (r *Registry) add(t *Topic) {
	defer r.version.Add(1) // after the lock is given back
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName[t.name], r.byID[t.id], r.folded[fold(t.name)] = t, t, t
}

// drop makes a topic invisible.
func (r *Registry) drop(t *Topic) {
	defer r.version.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byName, t.name)
	delete(r.byID, t.id)
	delete(r.folded, fold(t.name))
}

// dir is a topic's directory.
func (r *Registry) dir(id ID) string { return path.Join(r.o.Dir, topicsDir, id.String()) }
