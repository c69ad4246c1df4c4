package stream

import "container/heap"

// expiries is when messages with a time to live go. Messages that went before stay in it until they would expire, or until
// they are more than those that are there.
type expiries struct {
	queue expiryQueue
	gone  int // messages in queue that are not stored any more
}

type expiry struct {
	sequence uint64
	at       int64 // milliseconds
}

func (e *expiries) add(sequence uint64, at int64) { heap.Push(&e.queue, expiry{sequence, at}) }

// tidy drops messages that are gone, when they are most of the queue.
func (e *expiries) tidy(x *index) {
	if e.gone < 1024 || e.gone < len(e.queue)/2 {
		return
	}
	kept := e.queue[:0]
	for _, one := range e.queue {
		if _, _, ok := x.get(one.sequence); ok {
			kept = append(kept, one)
		}
	}
	e.queue, e.gone = kept, 0
	heap.Init(&e.queue)
}

// due takes out the next message that expires no later than now; 0 when there is none.
func (e *expiries) due(now int64) uint64 {
	if len(e.queue) == 0 || e.queue[0].at > now {
		return 0
	}
	return heap.Pop(&e.queue).(expiry).sequence
}

// expiryQueue is a heap, the soonest first.
type expiryQueue []expiry

func (q expiryQueue) Len() int           { return len(q) }
func (q expiryQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q expiryQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *expiryQueue) Push(x any)        { *q = append(*q, x.(expiry)) }
func (q *expiryQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
