// Package consumer knows who reads: groups, their members and assignments, and the offsets they committed.
//
// # Parts
//
// A group is a pure state machine (group.go, join.go, rebalance.go, sync.go): events and the time go in, replies and
// the wish to be saved come out. Groups is the shell around all of them: it holds one entry per group, looks at the
// clock, parks requests until the machine answers them, and saves.
//
// # Locks
//
// Groups.mu guards the map of entries and entry.mu one group. Groups.mu is taken before entry.mu; alarms.mu and store.mu
// come last. None is held while waiting for the disk, a channel or a timer.
//
// # What survives
//
// Groups and offsets live in one bbolt file (record.go draws their bytes). Changes are queued in the order in which they
// happened, and all that came in during one transaction share the next one. A commit is answered when its transaction is
// synced, and so is an assignment: what a client was told is there after a crash. A group is saved when it becomes stable
// or empty, so after a restart its members keep their ids, their generation and their assignments, with new session
// timers; a rebalance that was under way starts again.
//
// An offset belongs to the id of its topic, not to the name: when the topic is deleted, it is gone, even if another
// topic of that name exists by now.
package consumer
