package log

import (
	"errors"
	"fmt"
)

// Sizes of the steps in which space is reserved ahead of the writes (FORMAT.md, "Preallocation").
const (
	allocateMin = 64 << 10
	allocateMax = 16 << 20
)

// pending is what the next flush of a log has to do.
type pending struct {
	queued queueState
	dirty  []*segment // with a pin: written since their last sync, oldest first
	names  bool       // the directory has a new name in it
	seals  []sealing  // segments whose index is to be written
	again  bool       // something came while a worker had the log
}

// queueState says whether the committer knows that the log has something pending.
type queueState uint8

const (
	idle     queueState = iota
	queued              // waiting for a worker, or for the interval of an Async log
	flushing            // a worker has it, and looks again when it is done
)

// sealing is a segment that gets no more batches.
type sealing struct {
	segment  *segment
	snapshot *snapshotFile // state at its end; may be nil
	rebuilt  *index        // not a new seal, but a better index for a finished segment
}

// dirtyLocked tells the committer that there is something to flush.
func (l *Log) dirtyLocked() {
	switch l.pending.queued {
	case idle:
		l.pending.queued = queued
		l.o.Committer.add(l, l.config.Durability)
	case flushing:
		l.pending.again = true
	}
}

// flush is one round of making a log durable. From begin to finish it holds the log's turn.
type flush struct {
	log   *Log
	files []*openFile // with unsynced writes
	names bool
	seals []sealing
	to    mark // what is durable afterwards
}

// begin takes over everything that is pending. It returns nil, without the turn, when there is nothing to do.
func (l *Log) begin() *flush {
	l.turn <- struct{}{}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.queued = flushing
	if l.err != nil || l.state == closed {
		l.pending.queued = idle
		<-l.turn
		return nil
	}
	return l.takePendingLocked()
}

// takePendingLocked starts a flush; the caller holds the turn.
func (l *Log) takePendingLocked() *flush {
	f := &flush{log: l, names: l.pending.names, seals: l.pending.seals, to: l.endLocked()}
	for _, s := range l.pending.dirty {
		f.files = append(f.files, s.pin)
		s.pin = nil
	}
	l.pending = pending{queued: l.pending.queued}
	return f
}

// cut takes the reserved space off sealed segments, so that the sync covers that too.
func (f *flush) cut() error {
	for _, file := range f.files {
		s := file.segment
		if size, extra := f.log.surplus(s); extra {
			if err := file.Truncate(size); err != nil {
				return fmt.Errorf("cut %s: %w", s.name(), err)
			}
		}
	}
	return nil
}

// surplus says to which size the file of a sealed segment must be cut.
func (l *Log) surplus(s *segment) (size int64, extra bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.size, s.sealed && s.allocated > s.size
}

// sync puts the files, and then their names, on the disk.
func (f *flush) sync() error {
	for _, file := range f.files {
		if err := file.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", file.segment.name(), err)
		}
	}
	if f.names {
		if err := f.syncNames(); err != nil {
			return fmt.Errorf("sync directory: %w", err)
		}
	}
	return nil
}

// syncNames puts the names in the log's directory on the disk. Without a descriptor for the directory it syncs more than
// that, through a file that is open.
func (f *flush) syncNames() error {
	err := f.log.o.FS.SyncDir(f.log.o.Dir)
	if outOfFiles(err) && len(f.files) > 0 {
		return f.files[0].SyncFS()
	}
	return err
}

// end moves Durable, or makes the log fail, and wakes the waiters.
func (f *flush) end(err error) {
	l := f.log
	l.mu.Lock()
	if err != nil {
		_ = l.failLocked(err)
	} else if l.err == nil {
		l.setVisibleLocked(f.to)
	}
	l.mu.Unlock()
}

// finish does what no waiter waits for: it writes the indexes of sealed segments, moves the recovery point and reserves
// space. Then it lets go of the files and of the turn.
func (f *flush) finish() {
	l := f.log
	if l.Err() == nil {
		if err := f.housekeep(); err != nil && !isFull(err) && !outOfFiles(err) {
			_ = l.fail(err)
		}
	}
	for _, file := range f.files {
		l.o.Files.release(file)
	}
	<-l.turn
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.queued = idle
	if l.pending.again && l.err == nil {
		l.pending.again = false
		l.dirtyLocked()
	}
}

func (f *flush) housekeep() error {
	err := f.log.finishSeals(f.seals)
	f.reserve()
	return err
}

// reserve keeps the active segment's file larger than its contents, so that a sync need not write a new size each time.
// It is a hint: a disk that is full or cannot do it changes nothing.
func (f *flush) reserve() {
	l := f.log
	if len(f.files) == 0 {
		return
	}
	file := f.files[len(f.files)-1]
	l.mu.Lock()
	s := file.segment
	step := min(max(s.size, allocateMin), allocateMax)
	from, to := s.allocated, min(s.size+step, l.config.SegmentBytes)
	want := !s.sealed && from-s.size < step/2 && to > from
	l.mu.Unlock()
	if !want || file.Allocate(from, to-from) != nil {
		return
	}
	l.mu.Lock()
	s.allocated = max(s.allocated, to)
	l.mu.Unlock()
}

// finalFlush is the flush of Close: nothing is appended any more, and the log is left clean.
func (l *Log) finalFlush() error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	active := l.active()
	if active.allocated > active.size { // reserved space goes
		if _, err := l.pinLocked(active); err != nil {
			l.mu.Unlock()
			return fmt.Errorf("close log: %w", err)
		}
	}
	active.sealed = true
	f := l.takePendingLocked()
	l.mu.Unlock()

	err := l.o.Committer.failure()
	if err == nil || len(f.files) == 0 {
		if err = f.cut(); err == nil {
			err = f.sync()
		}
	}
	f.end(err)
	for _, file := range f.files {
		l.o.Files.release(file)
	}
	if err != nil {
		return l.Err()
	}
	if err := errors.Join(l.finishSeals(f.seals), l.markClean()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
