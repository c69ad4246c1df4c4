package log

import (
	"errors"
	"slices"
)

const (
	// rollErased is the size from which on an active segment is sealed because much of it is erased: only then can compaction
	// take that off the disk.
	rollErased = 16 << 20
	// mergeBelow is the size up to which a segment is joined with a neighbour that is written anew.
	mergeBelow = 1 << 20
)

// Reclaim asks compaction to take off the disk, in its next rounds, what is erased now, however little that is. The wish
// does not outlive the process.
func (l *Log) Reclaim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erased.asked = l.bounds.End
}

// Reclaimable says that Compact would write a segment anew for the sake of erased records, with this
// Compaction.ErasedShare. It may read the headers of a segment to count its records, once.
func (l *Log) Reclaimable(share float64) bool {
	due, unknown := l.reclaimable(share)
	if due || len(unknown) == 0 {
		return due
	}
	for _, p := range unknown {
		l.count(p)
	}
	due, _ = l.reclaimable(share)
	return due
}

// reclaimable is Reclaimable without counting; unknown are the segments with erased records for which that might help.
func (l *Log) reclaimable(share float64) (due bool, unknown []piece) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.erased.set.count == 0 {
		return false, nil
	}
	due = l.rollDueLocked(share)
	for _, p := range l.sweepableLocked(l.bounds.Stable) {
		due = due || l.erased.due(p, share)
		if _, some := l.erased.set.next(p.base, p.end); some && p.records == uncounted {
			unknown = append(unknown, p)
		}
	}
	return due, unknown
}

// due says that a segment is worth to be written anew.
func (e *erasures) due(p piece, share float64) bool {
	if _, asked := e.set.next(p.base, min(p.end, e.asked)); asked {
		return true
	}
	total := p.records
	if total == uncounted {
		total = p.end - p.base
	}
	n := e.set.in(p.base, p.end) - p.stuck
	return n > 0 && float64(n) > share*float64(total)
}

// count counts the records of a finished segment, if it can be read.
func (l *Log) count(p piece) {
	l.mu.Lock()
	file, err := l.o.Files.acquire(l.o.FS, p.segment)
	l.mu.Unlock()
	if err != nil {
		return
	}
	defer l.o.Files.release(file)
	buf := l.o.Files.buffer()
	defer l.o.Files.buffers.Put(buf)
	in := inspector{r: file, end: p.size, buf: (*buf)[:0]}
	total := int64(0)
	for pos := int64(0); pos < p.size; {
		h, reason, err := in.header(pos, p.base)
		if err != nil {
			return
		}
		if reason != "" { // damage
			total = p.end - p.base
			break
		}
		total, pos = total+int64(h.Count()), pos+h.Size()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.records = total
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

// rollDueLocked says that the active segment is to be sealed, so that a later round can take something in it off the disk.
func (l *Log) rollDueLocked(share float64) bool {
	s := l.active()
	if s.size == 0 {
		return false
	}
	p := piece{s, l.bounds.End}
	_, asked := l.erased.set.next(p.base, l.erased.asked)
	return asked || s.size >= rollErased && l.erased.due(p, share)
}

// rollErasedLocked seals the active segment if that is due.
func (l *Log) rollErasedLocked(share float64) error {
	if !l.rollDueLocked(share) {
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
}

// swept takes note that everything below end was done that was asked for. What is still erased there cannot be read, and so
// not be taken out.
func (l *Log) swept(end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, wanted := l.erased.set.next(end, l.erased.asked); !wanted {
		l.erased.asked = 0
	}
}

// sweep takes erased records off the disk where they are many, or are wanted off it.
func (c *compactor) sweep() error {
	c.filter.keys = nil
	for from := int64(0); ; {
		run := c.dueFrom(from)
		if len(run) == 0 {
			c.log.swept(c.end)
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

// dueFrom returns the first run of neighbours at or above from that are to be written anew: those that are due, and small
// ones beside them.
func (c *compactor) dueFrom(from int64) []piece {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	pieces := slices.DeleteFunc(l.sweepableLocked(c.end), func(p piece) bool { return p.base < from })
	due := func(p piece) bool { return l.erased.due(p, c.o.ErasedShare) }
	begin := slices.IndexFunc(pieces, due)
	if begin < 0 {
		return nil
	}
	end := begin + 1
	for end < len(pieces) && (due(pieces[end]) || pieces[end].size <= mergeBelow) {
		end++
	}
	for begin > 0 && pieces[begin-1].size <= mergeBelow {
		begin--
	}
	return pieces[begin:end]
}
