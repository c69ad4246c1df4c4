package log

import (
	"errors"
	"fmt"

	"brokerd/log/vfs"
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

// syncNames puts the names in the log's directory on the disk.
func (f *flush) syncNames() error {
	if len(f.files) == 0 {
		return f.log.o.FS.SyncDir(f.log.o.Dir)
	}
	return f.log.syncNames(f.files[0])
}

// syncNames puts the names in the log's directory on the disk. Without a descriptor for the directory it syncs more than
// that, through a file that is open.
func (l *Log) syncNames(file vfs.File) error {
	err := l.o.FS.SyncDir(l.o.Dir)
	if outOfFiles(err) {
		return file.SyncFS()
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
		l.erased.synced = max(l.erased.synced, f.to.offset)
		l.setVisibleLocked(f.to)
		if l.config.Durability == Async {
			l.notifyLocked() // Durable was there before
		}
	}
	l.mu.Unlock()
}

// finish does what no waiter waits for: it writes the indexes of sealed segments, moves the recovery point, and does the
// chores. Then it lets go of the files and of the turn.
func (f *flush) finish() {
	l := f.log
	if l.Err() == nil {
		err := errors.Join(l.finishSeals(f.seals), l.doChores())
		if err != nil && !isFull(err) && !outOfFiles(err) {
			_ = l.fail(err)
		}
	}
	f.release()
	<-l.turn
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.queued = idle
	if l.pending.again && l.err == nil {
		l.pending.again = false
		l.dirtyLocked()
	}
}

func (f *flush) release() {
	for _, file := range f.files {
		f.log.o.Files.release(file)
	}
}

// finalFlush is the flush of Close: nothing is appended any more, and the log is left clean.
func (l *Log) finalFlush() error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	f := l.takePendingLocked()
	l.mu.Unlock()
	defer f.release()

	err := l.o.Committer.failure()
	if err == nil || len(f.files) == 0 {
		err = f.sync()
	}
	f.end(err)
	if err != nil {
		return l.Err()
	}
	if err := errors.Join(l.finishSeals(f.seals), l.writeErased(), l.markClean()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
