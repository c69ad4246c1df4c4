package consumer

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// alarms wakes groups when something of theirs is due, all with one timer.
type alarms struct {
	wake chan struct{} // holds one: the earliest alarm changed

	mu    sync.Mutex
	queue queue
}

// alarm is when an entry is due, and its place in the queue; -1 while it has none.
type alarm struct {
	due   time.Time
	index int
}

func newAlarms() *alarms { return &alarms{wake: make(chan struct{}, 1)} }

// set moves e's alarm; zero turns it off.
func (a *alarms) set(e *entry, due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	off := e.alarm.index < 0
	if !off && e.alarm.due.Equal(due) {
		return
	}
	e.alarm.due = due
	switch {
	case due.IsZero() && off:
		return
	case due.IsZero():
		heap.Remove(&a.queue, e.alarm.index)
		return
	case off:
		heap.Push(&a.queue, e)
	default:
		heap.Fix(&a.queue, e.alarm.index)
	}
	if a.queue[0] == e {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// next takes out an entry that is due; if there is none, it says how long there will be none.
func (a *alarms) next(now time.Time) (*entry, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return nil, time.Hour
	}
	e := a.queue[0]
	if wait := e.alarm.due.Sub(now); wait > 0 {
		return nil, wait
	}
	heap.Pop(&a.queue)
	return e, 0
}

// run calls ring for each entry that is due, until ctx is done.
func (a *alarms) run(ctx context.Context, ring func(*entry)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		e, wait := a.next(time.Now())
		if e != nil {
			ring(e)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-a.wake:
		case <-ctx.Done():
		}
	}
}

// queue is a heap of entries, the earliest first.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].alarm.due.Before(q[j].alarm.due) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].alarm.index, q[j].alarm.index = i, j
}

func (q *queue) Push(x any) {
	e := x.(*entry)
	e.alarm.index = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.alarm.index = -1
	return e
}
