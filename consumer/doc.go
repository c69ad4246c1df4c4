// Package consumer knows who reads: groups, their members and assignments, and the offsets they committed.
//
// # Parts
//
// A group is a pure state machine: events and the time go in, replies and the wish to be saved come out. There are two
// types (KIP-848 names them). In a classic group (classic.go, join.go, sync.go, rebalance.go) the members assign among
// themselves, and wait for each other. In a consumer group (consumergroup.go, beat.go, interest.go, reconcile.go) the broker
// assigns, by one of two pure functions (assignor.go, uniform.go), and members only send heartbeats.
//
// Groups is the shell around all of them: it holds one entry per group, looks at the clock, parks requests until the
// machine answers them, and saves. What it needs of a machine is in machine.go. A group without members changes its type
// when a client of the other one comes; its offsets stay.
//
// Durable consumers of NATS clients stand in the same table (durables.go): they are kept by package consumer/durable, and
// here they are listed, described, moved and deleted.
//
// # Locks
//
// Groups.mu guards the map of entries and entry.mu one group. Groups.mu is taken before entry.mu; alarms.mu, store.mu and
// catalogs.mu come last. None is held while waiting for the disk, a channel or a timer.
//
// # What survives
//
// Groups and offsets live in one bbolt file (record.go draws their bytes). Changes are queued in the order in which they
// happened, and all that came in during one transaction share the next one. A commit is answered when its transaction is
// synced, and so is an assignment: what a client was told is there after a crash. A classic group is saved as a whole when
// it becomes stable or empty, so after a restart its members keep their ids, their generation and their assignments, with
// new session timers; a rebalance that was under way starts again. A consumer group is saved with each change, member by
// member, so after a restart it goes on exactly where it was, with new session timers too.
//
// An offset belongs to the id of its topic, not to the name: when the topic is deleted, it is gone, even if another
// topic of that name exists by now.
package consumer
