package durable

import (
	"container/heap"
	"container/list"
	"time"
)

// entry is a message that was delivered and not acknowledged.
type entry struct {
	place             // consumer is the number of its first delivery
	deliveries uint64 // so many attempts
	sent       time.Time
	due        time.Time // when it is to be delivered again; zero while it is queued for that

	stored bool          // it may be in the database
	index  int           // in pendings.due, -1 when not there
	order  *list.Element // in pendings.order
	again  *list.Element // in pendings.again, nil when not there
}

// next is the pending message that follows in the stream.
func (e *entry) next() *entry { return entryOf(e.order.Next()) }

func entryOf(el *list.Element) *entry {
	if el == nil {
		return nil
	}
	return el.Value.(*entry)
}

// pendings are the messages that wait for acknowledgement: by sequence, in the order of the stream, by the time when they
// are due, and in the order in which those that were due are delivered again.
type pendings struct {
	bySequence map[uint64]*entry
	order      *list.List
	again      *list.List
	due        dues
}

func newPendings() pendings {
	return pendings{bySequence: map[uint64]*entry{}, order: list.New(), again: list.New()}
}

func (p *pendings) len() int                   { return len(p.bySequence) }
func (p *pendings) get(sequence uint64) *entry { return p.bySequence[sequence] }
func (p *pendings) first() *entry              { return entryOf(p.order.Front()) }

// nextAgain is the message that is to be delivered again next.
func (p *pendings) nextAgain() *entry { return entryOf(p.again.Front()) }

// add takes a message that follows all that are here in the stream.
func (p *pendings) add(e *entry) {
	e.index = -1
	e.order = p.order.PushBack(e)
	p.bySequence[e.stream] = e
}

func (p *pendings) remove(e *entry) {
	p.schedule(e, time.Time{})
	p.order.Remove(e.order)
	delete(p.bySequence, e.stream)
}

// schedule says when e is due, and takes it from the queue of those that are; zero is never.
func (p *pendings) schedule(e *entry, due time.Time) {
	if e.again != nil {
		p.again.Remove(e.again)
		e.again = nil
	}
	e.due = due
	switch {
	case due.IsZero() && e.index >= 0:
		heap.Remove(&p.due, e.index)
	case due.IsZero():
	case e.index >= 0:
		heap.Fix(&p.due, e.index)
	default:
		heap.Push(&p.due, e)
	}
}

// enqueue makes e one of those that are delivered again.
func (p *pendings) enqueue(e *entry) {
	p.schedule(e, time.Time{})
	e.again = p.again.PushBack(e)
}

// enqueueFirst makes e the next that is delivered again.
func (p *pendings) enqueueFirst(e *entry) {
	p.schedule(e, time.Time{})
	e.again = p.again.PushFront(e)
}

// earliest is when the first message is due; zero when none is.
func (p *pendings) earliest() time.Time {
	if len(p.due) == 0 {
		return time.Time{}
	}
	return p.due[0].due
}

// latest is when the last message is due; zero when none is.
func (p *pendings) latest() time.Time {
	var latest time.Time
	for _, e := range p.due {
		if e.due.After(latest) {
			latest = e.due
		}
	}
	return latest
}

// takeDue takes out what is due, in no order.
func (p *pendings) takeDue(now time.Time) []*entry {
	var list []*entry
	for len(p.due) > 0 && !now.Before(p.due[0].due) {
		e := p.due[0]
		p.schedule(e, time.Time{})
		list = append(list, e)
	}
	return list
}

// dues is a heap of entries, the earliest first.
type dues []*entry

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].due.Before(d[j].due) }

func (d dues) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

func (d *dues) Push(x any) {
	e := x.(*entry)
	e.index = len(*d)
	*d = append(*d, e)
}

func (d *dues) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	e.index = -1
	return e
}
