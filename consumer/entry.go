package consumer

import (
	"context"
	"sync"
	"time"

	"brokerd/consumer/store"
	"brokerd/topic"
)

// entry is one group in the table: its machine, its offsets, and who waits for an answer.
type entry struct {
	id    string
	alarm alarm // guarded by alarms.mu

	mu      sync.Mutex
	group   machine
	dead    bool                        // deleted, and no longer in the table
	offsets map[string]map[int32]stored // by topic and partition; all of them are on disk
	queued  int                         // writes of offsets that are not on disk yet
	parked  map[token]chan answer       // each takes one answer without blocking
	last    token

	saved    *store.Write // the newest save of the group, nil if there was none since the start
	unsaved  bool         // a save failed
	pending  []string     // members of a consumer group that changed since the last save that is known to be on disk
	replaced bool         // what is stored is of a group of the other type
}

// stored is a committed offset, and the topic that it is for.
type stored struct {
	Offset
	topic topic.ID
}

// answer is a reply, and what has to be on disk before it goes out.
type answer struct {
	reply
	after *store.Write
}

func newEntry(id string, s Settings) *entry {
	return &entry{
		id:      id,
		alarm:   alarm{index: -1},
		group:   newClassicGroup(s),
		offsets: map[string]map[int32]stored{},
		parked:  map[token]chan answer{},
	}
}

// classic is the group if it is of the classic type, else nil.
func (e *entry) classic() *classicGroup {
	g, _ := e.group.(*classicGroup)
	return g
}

// consumer is the group if it is of the consumer type, else nil.
func (e *entry) consumer() *consumerGroup {
	g, _ := e.group.(*consumerGroup)
	return g
}

// become changes the type of a group without members.
func (e *entry) become(g machine) {
	e.group, e.replaced = g, true
	e.saved, e.pending = nil, nil
}

// storable says that a restart could go on with the group as it is: not with a classic rebalance.
func (e *entry) storable() bool {
	s := e.group.status().state
	return s != PreparingRebalance && s != CompletingRebalance
}

// vacant says that nothing would be lost without e.
func (e *entry) vacant() bool {
	return e.group.status().vacant() && len(e.offsets) == 0 && e.queued == 0
}

// park makes the place to which the machine's answer goes.
func (e *entry) park() (token, <-chan answer) {
	e.last++
	ch := make(chan answer, 1)
	e.parked[e.last] = ch
	return e.last, ch
}

// wait returns the answer to a parked request, when what it shows is on disk.
func (e *entry) wait(ctx context.Context, to token, ch <-chan answer) (reply, error) {
	select {
	case a := <-ch:
		if a.after != nil {
			if err := a.after.Wait(ctx); err != nil {
				return reply{}, err
			}
		}
		return a.reply, a.err
	case <-ctx.Done():
		e.mu.Lock()
		delete(e.parked, to)
		e.mu.Unlock()
		return reply{}, ctx.Err()
	}
}

func (e *entry) setOffset(topic string, partition int32, s stored) {
	if e.offsets[topic] == nil {
		e.offsets[topic] = map[int32]stored{}
	}
	e.offsets[topic][partition] = s
}

func (e *entry) deleteOffset(topic string, partition int32) {
	delete(e.offsets[topic], partition)
	if len(e.offsets[topic]) == 0 {
		delete(e.offsets, topic)
	}
}

// expired says whether an offset may go: its group has had no members for longer than keep, and nobody committed since.
// In a group that never had members only the commit counts (KIP-211).
func (s stored) expired(g status, keep time.Duration, now time.Time) bool {
	if g.state != Empty {
		return false
	}
	used := s.Time
	if g.emptySince.After(used) {
		used = g.emptySince
	}
	return now.Sub(used) >= keep
}
