package log

import (
	"errors"
	"slices"
)

// Reclaim asks compaction to take off the disk, in its next rounds, what is erased now, however little that is. The wish
// does not outlive the process.
func (l *Log) Reclaim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erased.asked = l.bounds.End
}

// Reclaimable says that Compact would write a segment anew for the sake of erased records, with this
// Compaction.ErasedShare.
func (l *Log) Reclaimable(share float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.erased.set.count == 0 {
		return false
	}
	_, active := l.erased.set.next(l.active().base, l.erased.asked)
	return active || slices.ContainsFunc(l.sweepableLocked(l.bounds.Stable), func(p piece) bool { return l.erased.due(p, share) })
}

// due says that a segment is worth to be written anew.
func (e *erasures) due(p piece, share float64) bool {
	n := e.set.in(p.base, p.end)
	_, asked := e.set.next(p.base, min(p.end, e.asked))
	return asked || n > 0 && float64(n) > share*float64(p.end-p.base)
}

// sweepableLocked returns the segments below end that may be written anew, whether their keys were compacted or not.
func (l *Log) sweepableLocked(end int64) (pieces []piece) {
	for i, s := range l.segments[:len(l.segments)-1] {
		p := piece{s, l.segments[i+1].base}
		if !s.finished || p.end > min(end, l.bounds.Stable) {
			break
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// rollErasedLocked seals the active segment if something in it is to go soon: then a later round can do that.
func (l *Log) rollErasedLocked() error {
	s := l.active()
	if _, asked := l.erased.set.next(s.base, l.erased.asked); !asked || s.size == 0 {
		return nil
	}
	return l.rollLocked(false) // no snapshot: the projection belongs to whoever appends
}

// erasedIn copies what is erased in [from, to).
func (l *Log) erasedIn(from, to int64) *offsetSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.erased.set.part(from, to)
}

// dropErased takes offsets off the list of which nothing is left on the disk.
func (l *Log) dropErased(gone *offsetSet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetErasedLocked(func(s *offsetSet) { s.subtract(gone) })
	if _, wanted := l.erased.set.next(0, l.erased.asked); !wanted {
		l.erased.asked = 0
	}
}

// sweep takes erased records off the disk where they are many, or are wanted off it.
func (c *compactor) sweep() error {
	c.filter.keys = nil
	for from := int64(0); ; {
		run := c.dueFrom(from)
		if len(run) == 0 {
			return nil
		}
		n, err := c.replace(run, c.end)
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return err
		}
		from = run[n-1].end
	}
}

// dueFrom returns the first run of neighbours at or above from that are to be written anew.
func (c *compactor) dueFrom(from int64) []piece {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	pieces := l.sweepableLocked(c.end)
	no := func(p piece) bool { return p.base < from || !l.erased.due(p, c.o.ErasedShare) }
	begin := slices.IndexFunc(pieces, func(p piece) bool { return !no(p) })
	if begin < 0 {
		return nil
	}
	run := pieces[begin:]
	if end := slices.IndexFunc(run, no); end >= 0 {
		run = run[:end]
	}
	return run
}
