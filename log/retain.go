package log

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Trim moves Start up to offset (at most Durable), durably, and deletes segments wholly below it. Moving it down does
// nothing. Errors: *RangeError above Durable, ErrFailed, ErrClosed, and those of the file system.
func (l *Log) Trim(offset int64) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	b, start, err := l.bounds, l.chores.start, l.usableLocked()
	if err == nil && offset == b.Durable {
		l.vacateLocked(1)
	}
	l.mu.Unlock()
	switch {
	case err != nil:
		return err
	case offset > b.Durable:
		return &RangeError{Offset: offset, Start: b.Start, End: b.Durable}
	case offset <= start:
		return nil
	}
	_, err = l.moveStart(offset)
	return err
}

// vacateLocked seals the active segment, so that it can be deleted like the others, when all of it is going to be below
// Start and it has so many bytes at least. When that is not possible now it stays until it is sealed.
func (l *Log) vacateLocked(bytes int64) {
	if l.bounds.Durable == l.bounds.End && l.active().size >= bytes {
		_ = l.rollLocked(false) // no snapshot: the projection belongs to whoever appends
	}
}

// Advance deletes everything and lets the log go on at offset, which is not below End: Start and End are there when it
// returns, durably, and never move back. Errors: *RangeError, ErrNoSpace, ErrTooManyFiles, ErrFailed, ErrClosed, and those
// of the file system.
func (l *Log) Advance(offset int64) error {
	for {
		end := l.Bounds().End
		if err := l.WaitDurable(context.Background(), end-1); err != nil {
			return err
		}
		if done, err := l.advance(offset, end); done || err != nil {
			return err
		}
	}
}

// advance is Advance for a log that ends with offset end; it is false if something was appended meanwhile.
func (l *Log) advance(offset, end int64) (bool, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	b, err := l.bounds, l.usableLocked()
	switch {
	case err != nil:
	case offset < b.End || offset > maxBase:
		err = &RangeError{Offset: offset, Start: b.End, End: maxBase}
	case b.End == end && offset > end:
		// From here on appends go behind the gap. They become durable when this is over: a flush needs the turn.
		if err = l.rollToLocked(offset, false); err == nil {
			l.visible, l.erased.synced = mark{offset, l.active(), 0}, offset
			l.setBoundsLocked(Bounds{Start: b.Start, Stable: offset, Durable: offset, End: offset})
			l.setStartLocked(offset)
		}
	case b.End == end:
		l.vacateLocked(1)
	}
	l.mu.Unlock()
	if err != nil || b.End != end {
		return false, err
	}
	if _, err = l.moveStart(offset); err != nil && offset > end {
		err = l.fail(err) // memory is ahead of the disk
	}
	return true, err
}

// Retention says what Retain did.
type Retention struct {
	Rolled   bool
	Segments int
	Bytes    int64
	Start    int64
}

// Retain applies RetentionBytes, RetentionAge and SegmentAge by arrival time, not by the times in the records: it may
// roll the active segment and it deletes segments from the oldest on, as far as they are durable. It never waits for an
// append.
func (l *Log) Retain(now time.Time) (Retention, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	rolled, start, err := l.planRetention(now)
	r := Retention{Rolled: rolled, Start: start}
	if err != nil || start == 0 {
		r.Start = l.Bounds().Start
		return r, err
	}
	gone, err := l.moveStart(start)
	for _, s := range gone {
		r.Segments++
		r.Bytes += s.size
	}
	return r, err
}

// planRetention rolls the active segment if its age demands it, and returns the offset that Start has to move to; 0 for
// not at all.
func (l *Log) planRetention(now time.Time) (rolled bool, start int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return false, 0, err
	}
	c, active := l.config, l.active()
	old := c.SegmentAge > 0 && now.Sub(active.first) >= c.SegmentAge || expired(active, now, c.RetentionAge)
	if active.size > 0 && old {
		if err := l.rollLocked(false); err != nil { // no snapshot: the projection belongs to whoever appends
			return false, 0, err
		}
		rolled = true
	}
	rest := l.sizeLocked()
	for i, s := range l.segments[:len(l.segments)-1] {
		tooMuch := c.RetentionBytes >= 0 && rest-s.size >= c.RetentionBytes
		next := l.segments[i+1].base
		if !tooMuch && !expired(s, now, c.RetentionAge) || next > l.bounds.Durable {
			break
		}
		rest -= s.size
		start = next
	}
	return rolled, start, nil
}

func expired(s *segment, now time.Time, age time.Duration) bool {
	return age >= 0 && now.Sub(s.last) >= age
}

// moveStart moves Start durably, then deletes what is wholly below it. The caller holds the turn, so the segments that
// the log has now are all there is to delete.
func (l *Log) moveStart(start int64) (gone []*segment, err error) {
	// This also makes the name of the segment durable that follows the deleted ones: a crash cannot leave none at all.
	err = l.writeCheckpoint(func(c *checkpoint) { c.start = max(c.start, start) })
	if err != nil {
		return nil, fmt.Errorf("move log start: %w", err)
	}
	l.mu.Lock()
	l.chores.start = max(l.chores.start, start)
	if start > l.bounds.Start {
		l.setStartLocked(start)
	}
	keep := find(l.segments, start)
	gone = slices.Clone(l.segments[:keep])
	l.segments = slices.Clone(l.segments[keep:])
	// Not up to start, since the batch there is given out as a whole; and not before the start is on the disk.
	l.forgetErasedLocked(func(s *offsetSet) { s.remove(0, l.segments[0].base) })
	pins := l.unpinLocked(gone)
	l.mu.Unlock()
	for _, p := range pins {
		l.o.Files.release(p)
	}
	for i, s := range gone {
		if err := l.removeFiles(s); err != nil {
			return gone[:i], err
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	return gone, l.o.FS.SyncDir(l.o.Dir)
}

// unpinLocked gives up the unsynced writes of segments that are deleted: what they hold was durable before.
func (l *Log) unpinLocked(gone []*segment) (pins []*openFile) {
	for _, s := range gone {
		if s.pin != nil {
			pins = append(pins, s.pin)
			s.pin = nil
		}
	}
	l.pending.dirty = slices.DeleteFunc(l.pending.dirty, func(s *segment) bool { return s.pin == nil })
	return pins
}

// removeFiles deletes a segment and its index. One that a Range still reads goes when that is closed.
func (l *Log) removeFiles(s *segment) error {
	l.o.Files.forget(s)
	for _, name := range []string{s.path, s.sibling(indexSuffix), s.sibling(timeIndexSuffix)} {
		if err := l.o.FS.Remove(name); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove segment: %w", err)
		}
	}
	return nil
}
