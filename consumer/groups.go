package consumer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"brokerd/consumer/store"
)

// Options is what Groups are opened with.
type Options struct {
	DB       *bbolt.DB
	Topics   Topics
	Settings Settings // start from DefaultSettings
	Logger   zerolog.Logger
}

// Groups is the set of consumer groups and their offsets.
type Groups struct {
	settings Settings
	topics   Topics
	catalogs *catalogs
	log      zerolog.Logger
	db       *bbolt.DB
	store    *store.Store
	alarms   *alarms
	durables Durables // nil for none

	mu      sync.Mutex
	entries map[string]*entry // by group id
}

// Wait is the second half of a request: it blocks until the answer is there, or ctx is done. What the request does
// has happened, in order, before; so a Wait need not be called.
type Wait[T any] func(ctx context.Context) (T, error)

// ready is a Wait that has its answer.
func ready[T any](v T, err error) Wait[T] {
	return func(context.Context) (T, error) { return v, err }
}

// Open loads the groups and offsets. What is damaged is reported through the logger and left out.
func Open(o Options) (*Groups, error) {
	if err := o.Settings.validate(); err != nil {
		return nil, err
	}
	g := &Groups{
		settings: o.Settings,
		topics:   o.Topics,
		catalogs: &catalogs{topics: o.Topics},
		log:      o.Logger,
		db:       o.DB,
		store:    store.New(o.DB, "group offsets", o.Logger),
		alarms:   newAlarms(),
		entries:  map[string]*entry{},
	}
	if err := g.load(time.Now()); err != nil {
		return nil, fmt.Errorf("consumer: load groups: %w", err)
	}
	return g, nil
}

// Run saves what requests change, keeps the deadlines of all groups and expires offsets, until ctx is done; then it
// saves what is queued. Nothing is answered while it does not run.
func (g *Groups) Run(ctx context.Context) error {
	var tasks errgroup.Group
	tasks.Go(func() error { g.store.Run(ctx); return nil })
	tasks.Go(func() error { g.alarms.run(ctx, g.tick); return nil })
	tasks.Go(func() error { g.sweepEach(ctx); return nil })
	return tasks.Wait()
}

// lock returns the entry of a group, locked; nil if there is none.
func (g *Groups) lock(id string) *entry { return g.lockOr(id, func() *entry { return nil }) }

// lockNew returns the entry of a group, locked, and makes it if there is none.
func (g *Groups) lockNew(id string) *entry {
	return g.lockOr(id, func() *entry {
		e := newEntry(id, g.settings)
		g.entries[id] = e
		return e
	})
}

func (g *Groups) lockOr(id string, absent func() *entry) *entry {
	for {
		g.mu.Lock()
		e, ok := g.entries[id]
		if !ok {
			e = absent()
		}
		g.mu.Unlock()
		if e == nil {
			return nil
		}
		e.mu.Lock()
		if !e.dead {
			return e
		}
		e.mu.Unlock() // deleted meanwhile, and no longer in the map
	}
}

// all returns the entries ordered by group id.
func (g *Groups) all() []*entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*entry, 0, len(g.entries))
	for _, id := range slices.Sorted(maps.Keys(g.entries)) {
		list = append(list, g.entries[id])
	}
	return list
}

// settle does what the last steps of e's group asked for.
func (g *Groups) settle(e *entry) {
	out := e.group.drain()
	if out.save || e.unsaved && e.storable() {
		g.save(e, out.members)
	}
	for _, r := range out.replies {
		if parked, ok := e.parked[r.to]; ok {
			delete(e.parked, r.to)
			parked <- answer{r, e.saved}
		}
	}
	g.alarms.set(e, e.group.deadline())
}

// save queues what changed in e's group. It takes along what is queued already: if that fails, this is complete, and if
// this fails, the next change of the group tries again.
func (g *Groups) save(e *entry, members []string) {
	e.pending = append(e.pending, members...)
	all := e.replaced
	record := e.group.image(e.pending, all)
	e.unsaved = false
	var w *store.Write
	w = g.store.Add(func(tx *bbolt.Tx) error { return record.put(tx, e.id, all) }, func(err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case err != nil:
			e.unsaved = true
		case e.saved == w:
			e.pending, e.replaced = nil, false
		}
	})
	e.saved = w
}

// tick runs the deadlines of one group.
func (g *Groups) tick(e *entry) {
	e.mu.Lock()
	if e.dead {
		e.mu.Unlock()
		return
	}
	before := e.group.status().members
	e.group.tick(time.Now())
	g.settle(e)
	after := e.group.status()
	unused := after.unused && e.vacant()
	e.mu.Unlock()
	if left := before - after.members; left > 0 {
		g.log.Info().Str("group", e.id).Int("members", left).
			Msg("members were removed from their group: they did not answer in time; their partitions go to the others")
	}
	if unused {
		g.removeUnused(e)
	}
}

// remove forgets a group that has no members, with its offsets. ErrNotFound, ErrNonEmpty.
func (g *Groups) remove(e *entry) (*store.Write, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.dead:
		return nil, ErrNotFound
	case e.group.status().state != Empty:
		return nil, ErrNonEmpty
	}
	return g.removeLocked(e), nil
}

// removeUnused forgets a group in which nothing is left, unless it is used by now.
func (g *Groups) removeUnused(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.dead && e.vacant() {
		g.removeLocked(e)
	}
}

// removeLocked is called with both locks held.
func (g *Groups) removeLocked(e *entry) *store.Write {
	e.dead = true
	delete(g.entries, e.id)
	g.alarms.set(e, time.Time{})
	return g.store.Add(func(tx *bbolt.Tx) error { return deleteGroup(tx, e.id) }, nil)
}
