package log

import (
	"errors"
	"fmt"
	"time"

	"brokerd/log/vfs"
)

// Append gives the batch its offsets (written into b in place) and writes it. It does not wait: use WaitDurable with
// the returned Last before acknowledging. The batch must have passed CheckBatch.
// Errors: ErrNoSpace, ErrTooManyFiles, ErrTooLarge, ErrFailed, ErrClosed; any other one means that the segment's file
// could not be opened or made. After each of them nothing was appended.
func (l *Log) Append(b Batch) (Appended, error) {
	if len(b) < HeaderSize || b.Size() != int64(len(b)) || b.LastOffsetDelta() < 0 {
		return Appended{}, fmt.Errorf("%w: append: incomplete", ErrBadBatch)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return Appended{}, err
	}
	if int64(len(b)) > l.config.SegmentBytes {
		return Appended{}, fmt.Errorf("%w: %d bytes, %d fit", ErrTooLarge, len(b), l.config.SegmentBytes)
	}
	if l.fullLocked(b) {
		if err := l.rollLocked(true); err != nil {
			return Appended{}, err
		}
	}
	s := l.active()
	b.setPlace(l.bounds.End, l.epochLocked())
	if err := l.writeLocked(s, b); err != nil {
		return Appended{}, err
	}
	s.appended(b, l.config.IndexInterval, time.Now())
	bounds := l.bounds
	bounds.End = b.LastOffset() + 1
	l.setBoundsLocked(bounds)
	if l.config.Durability == Async {
		l.setVisibleLocked(l.endLocked())
	}
	l.dirtyLocked()
	return Appended{Base: b.BaseOffset(), Last: b.LastOffset()}, nil
}

// fullLocked says that b must go into a new segment.
func (l *Log) fullLocked(b Batch) bool {
	s := l.active()
	if s.size == 0 {
		return false
	}
	last := l.bounds.End + int64(b.LastOffsetDelta())
	return s.size+int64(len(b)) > l.config.SegmentBytes || last-s.base > maxSegment
}

// writeLocked writes b at the end of s. If the disk is full it takes back what was written of b; if that fails too, or
// the write failed for another reason, the log has failed.
func (l *Log) writeLocked(s *segment, b Batch) error {
	file, err := l.pinLocked(s)
	if err != nil {
		return spaceError(err)
	}
	_, err = file.WriteAt(b, s.size)
	if err == nil {
		return nil
	}
	if isFull(err) {
		undo := file.Truncate(s.size)
		if undo == nil {
			return spaceError(err)
		}
		err = errors.Join(err, undo)
	}
	return l.failLocked(fmt.Errorf("append to %s: %w", s.name(), err))
}

// pinLocked returns the open file of s and keeps it open until a flush has synced it.
func (l *Log) pinLocked(s *segment) (vfs.File, error) {
	if s.pin == nil {
		file, err := l.o.Files.acquire(l.o.FS, s)
		if err != nil {
			return nil, err
		}
		s.pin = file
		l.pending.dirty = append(l.pending.dirty, s)
	}
	return s.pin, nil
}

// Roll seals the active segment and starts a new one, unless it is empty. Errors: ErrNoSpace, ErrFailed, ErrClosed, and
// those of the file system.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	if l.active().size == 0 {
		return nil
	}
	return l.rollLocked(true)
}

// rollLocked seals the active segment and starts a new one at End. The next flush does the rest. With snapshot set it
// also takes a snapshot of the projection.
func (l *Log) rollLocked(snapshot bool) error { return l.rollToLocked(l.bounds.End, snapshot) }

// rollToLocked is rollLocked for a segment with this base.
func (l *Log) rollToLocked(base int64, snapshot bool) error {
	old := l.active()
	s, err := l.createLocked(base)
	if err != nil {
		return err
	}
	sealed := sealing{segment: old}
	if snapshot && l.o.Projection != nil {
		sealed.snapshot = &snapshotFile{offset: s.base, state: l.o.Projection.Snapshot()}
	}
	old.indexer.addTime()
	l.pending.seals = append(l.pending.seals, sealed)
	l.segments = append(l.segments, s)
	l.dirtyLocked()
	return nil
}

// createLocked makes the file of a new, empty segment.
func (l *Log) createLocked(base int64) (*segment, error) {
	s := newSegment(l.o.Dir, base)
	file, err := l.o.FS.Create(s.path)
	if err != nil {
		return nil, spaceError(fmt.Errorf("create segment: %w", err))
	}
	l.o.Files.release(l.o.Files.take(s, file))
	l.pending.names = true
	return s, nil
}

// spaceError marks an error of a full disk as ErrNoSpace, and one of too many open files as ErrTooManyFiles.
func spaceError(err error) error {
	switch {
	case isFull(err) && !errors.Is(err, ErrNoSpace):
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	case outOfFiles(err) && !errors.Is(err, ErrTooManyFiles):
		return fmt.Errorf("%w: %w", ErrTooManyFiles, err)
	}
	return err
}
