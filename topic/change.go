package topic

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"brokerd/log"
)

// maxPartitions is the most partitions a topic may have: the most that Kafka's controller makes in one request.
const maxPartitions = 10_000

// Spec describes a topic to create.
type Spec struct {
	Name         string
	Partitions   int32 // -1 takes the default
	Settings     map[string]string
	ValidateOnly bool
	Stream       []byte // what topic/stream keeps with the topic; nil for a topic made through Kafka
	Memory       bool   // the log is kept in memory, and the topic is gone after a stop
	FirstOffset  int64  // where every partition begins
}

// Create makes a topic; when it returns, the topic survives a crash, unless it is in memory. With ValidateOnly it only says what would happen: the
// Topic it returns has no id, and refuses everything.
// Errors: ErrExists, ErrBadName (also for a name that differs from an existing one only in "." and "_"),
// ErrBadPartitions, ErrBadConfig.
func (r *Registry) Create(s Spec) (*Topic, error) {
	if err := r.take(); err != nil {
		return nil, err
	}
	defer r.give()
	partitions, err := r.vet(s)
	if err != nil {
		return nil, err
	}
	settings, err := parseOverrides(s.Settings)
	if err != nil {
		return nil, err
	}
	config, err := levels{topic: settings, broker: r.broker}.config()
	if err != nil {
		return nil, err
	}
	t := &Topic{name: s.Name, created: time.Now().UTC(), memory: s.Memory, broker: r.broker}
	t.state.Store(&state{settings: settings, config: config, stream: bytes.Clone(s.Stream)})
	if s.ValidateOnly {
		t.pretend(partitions)
		return t, nil
	}
	t.id = newID()
	if err := r.doom(t); err != nil {
		return nil, fmt.Errorf("topic: create %s: %w", s.Name, err)
	}
	if err := r.grow(t, partitions, s.FirstOffset); err != nil {
		r.clear(t)
		return nil, fmt.Errorf("topic: create %s: %w", s.Name, err)
	}
	r.add(t)
	r.tell(t, false)
	return t, nil
}

// vet checks the name and the number of partitions of a new topic, and returns the number.
func (r *Registry) vet(s Spec) (int32, error) {
	if err := checkName(s.Name); err != nil {
		return 0, err
	}
	r.mu.RLock()
	other := r.folded[fold(s.Name)]
	r.mu.RUnlock()
	if other != nil && other.name == s.Name {
		return 0, fmt.Errorf("%w: %s", ErrExists, s.Name)
	}
	if other != nil {
		return 0, fmt.Errorf("%w: %s differs from the topic %s only in \".\" and \"_\"", ErrBadName, s.Name, other.name)
	}
	n := s.Partitions
	if n == -1 {
		n = r.o.Defaults.Partitions
	}
	if n < 1 || n > maxPartitions {
		return 0, fmt.Errorf("%w: %d, want 1 to %d", ErrBadPartitions, n, maxPartitions)
	}
	return n, nil
}

// AddPartitions grows a topic to total partitions. ErrNotFound, ErrBadPartitions when total is not larger.
func (r *Registry) AddPartitions(name string, total int32, validateOnly bool) error {
	if err := r.take(); err != nil {
		return err
	}
	defer r.give()
	t, ok := r.Get(name)
	if !ok {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if n := len(t.Partitions()); int(total) <= n || total > maxPartitions {
		return fmt.Errorf("%w: %s has %d, %d were asked for, want up to %d", ErrBadPartitions, name, n, total, maxPartitions)
	}
	if t.Stream() != nil {
		return fmt.Errorf("%w: %s is a JetStream stream, which has one partition", ErrBadPartitions, name)
	}
	if validateOnly {
		return nil
	}
	if err := r.grow(t, total, 0); err != nil {
		return fmt.Errorf("topic: add partitions to %s: %w", name, err)
	}
	r.tell(t, false)
	return nil
}

// Delete removes a topic: from the registry at once and durably, then from the disk. Files that cannot be removed now are
// removed at the next start. ErrNotFound.
func (r *Registry) Delete(name string) error {
	t, err := r.unlist(name)
	if err != nil {
		return err
	}
	for _, p := range t.Partitions() {
		p.remove()
	}
	r.clear(t)
	return nil
}

// unlist removes a topic from the registry.
func (r *Registry) unlist(name string) (*Topic, error) {
	if err := r.take(); err != nil {
		return nil, err
	}
	defer r.give()
	t, ok := r.Get(name)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if err := r.unsave(t); err != nil {
		return nil, fmt.Errorf("topic: delete %s: %w", name, err)
	}
	r.drop(t)
	r.tell(t, true)
	return t, nil
}

// Alter changes settings, all or none. ErrNotFound, ErrBadConfig.
func (r *Registry) Alter(name string, changes []Change, validateOnly bool) error {
	return r.reset(name, validateOnly, func(t *Topic, next *state) (err error) {
		next.settings, err = t.levels().apply(changes)
		return err
	})
}

// Replace sets exactly these settings and unsets all others (Kafka's AlterConfigs). ErrNotFound, ErrBadConfig.
func (r *Registry) Replace(name string, settings map[string]string, validateOnly bool) error {
	return r.reset(name, validateOnly, func(_ *Topic, next *state) (err error) {
		next.settings, err = parseOverrides(settings)
		return err
	})
}

// AlterStream replaces what topic/stream keeps with the topic, and changes settings, both or neither. ErrNotFound,
// ErrBadConfig.
func (r *Registry) AlterStream(name string, stream []byte, changes []Change) error {
	return r.reset(name, false, func(t *Topic, next *state) (err error) {
		next.stream = bytes.Clone(stream)
		next.settings, err = t.levels().apply(changes)
		return err
	})
}

// reset gives a topic the state that edit makes of a copy of its present one. It takes effect at once.
func (r *Registry) reset(name string, validateOnly bool, edit func(t *Topic, next *state) error) error {
	if err := r.take(); err != nil {
		return err
	}
	defer r.give()
	t, ok := r.Get(name)
	if !ok {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	old := t.state.Load()
	next := *old
	err := edit(t, &next)
	if err == nil {
		next.config, err = levels{topic: next.settings, broker: r.broker}.config()
	}
	same := maps.Equal(next.settings, old.settings)
	if err != nil || validateOnly || same && bytes.Equal(next.stream, old.stream) {
		return err
	}
	if err := r.save(t, &next); err != nil {
		return fmt.Errorf("topic: store the settings of %s: %w", name, err)
	}
	t.state.Store(&next)
	if !same {
		for _, p := range next.partitions {
			p.configure(next.config)
		}
	}
	r.tell(t, false)
	return nil
}

// OnChange calls f for each topic, and from then on after a topic was made, got other settings or more partitions, or was
// deleted, before the call that did it returns. f makes no change itself, and is called for one at a time.
// log.ErrClosed.
func (r *Registry) OnChange(f func(t *Topic, deleted bool)) error {
	if err := r.take(); err != nil {
		return err
	}
	defer r.give()
	for _, t := range r.List() {
		f(t, false)
	}
	r.changed = append(r.changed, f)
	return nil
}

// tell tells of a change. The caller has the turn.
func (r *Registry) tell(t *Topic, deleted bool) {
	for _, f := range r.changed {
		f(t, deleted)
	}
}

// take waits for the turn to make a change, which the caller gives back: log.ErrClosed after Close.
func (r *Registry) take() error {
	r.turn <- struct{}{}
	if r.closed {
		r.give()
		return fmt.Errorf("topic: the registry is closed: %w", log.ErrClosed)
	}
	return nil
}

func (r *Registry) give() { <-r.turn }
