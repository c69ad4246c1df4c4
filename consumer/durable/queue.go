package durable

import (
	"cmp"
	"slices"
	"time"
)

// queue is the requests that wait, the next one first.
type queue struct{ list []*request }

func (q *queue) len() int        { return len(q.list) }
func (q *queue) empty() bool     { return len(q.list) == 0 }
func (q *queue) all() []*request { return slices.Clone(q.list) }

// add puts r behind all others, or behind those of its priority and higher ones.
func (q *queue) add(r *request, prioritized bool) {
	at := len(q.list)
	if prioritized {
		at, _ = slices.BinarySearchFunc(q.list, r.priority()+1, func(o *request, p int) int {
			return cmp.Compare(o.priority(), p)
		})
	}
	q.list = slices.Insert(q.list, at, r)
}

// priority is lowest, that is served first, for 0.
func (r *request) priority() int {
	if r.plain {
		return 10
	}
	return r.Priority
}

func (q *queue) remove(r *request) {
	if i := slices.Index(q.list, r); i >= 0 {
		q.list = slices.Delete(q.list, i, i+1)
	}
}

func (q *queue) deadline() time.Time {
	var first time.Time
	for _, r := range q.list {
		first = earliest(first, r.expires, r.heartbeat)
	}
	return first
}
