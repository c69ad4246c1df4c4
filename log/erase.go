package log

import (
	"fmt"
	"path"
	"slices"
)

const (
	erasedSlack = 64 << 10                    // a file this much larger than need be is left as it is
	blockCost   = erasureFixed + blockWords*8 // bytes of a block in the file, at most
	erasedStep  = 16 << 10                    // offsets that are erased without letting go of the lock
)

// erasures are the records that were deleted one by one (FORMAT.md, "Erased records"). Log.mu guards them.
type erasures struct {
	set     offsetSet // erased, and perhaps still in a segment
	pending offsetSet // of those, what is not in the file yet
	size    int64     // of the file; 0 when there is none
	stale   bool      // the file is to be written anew
	synced  int64     // records below it are on the disk: Durable, unless the log is Async
	asked   int64     // compaction is to take what is erased below it off the disk soon (Reclaim)
}

// Erase deletes single records: no Read that begins after it returns has them, and compaction takes them off the disk.
// Their offsets are not given out again. With sync set it waits until they stay erased after a power failure; without, it
// waits for nothing, and they are on the disk about CommitterOptions.AsyncInterval later. Offsets that hold no record are
// ignored. Errors: ErrNoSpace and ErrTooManyFiles, after which the records are erased but not durably, and it may be tried
// again; ErrFailed, ErrClosed.
func (l *Log) Erase(offsets []int64, sync bool) error {
	last := int64(-1)
	for part := range slices.Chunk(offsets, erasedStep) {
		newest, err := l.markErased(part, sync)
		if err != nil {
			return err
		}
		last = max(last, newest)
	}
	if !sync {
		return nil
	}
	if err := l.waitSynced(last); err != nil {
		return err
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.isClosed() { // Close has written it, Remove has not
		return ErrClosed
	}
	return l.writeErased()
}

func (l *Log) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == closed
}

// markErased hides records from readers, and returns the last one.
func (l *Log) markErased(offsets []int64, sync bool) (last int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return -1, err
	}
	last = -1
	for _, o := range offsets {
		if o < l.bounds.Start || o >= l.bounds.End {
			continue
		}
		if l.erased.set.add(o) {
			l.erased.pending.add(o)
		}
		last = max(last, o)
	}
	if !sync && l.erased.pending.count > 0 {
		l.laterLocked()
	}
	return last, nil
}

// waitSynced returns when the record at offset is on the disk.
func (l *Log) waitSynced(offset int64) error {
	for {
		moved, err := l.onDisk(offset)
		if moved == nil {
			return err
		}
		<-moved
	}
}

// onDisk says that offset is on the disk (nil, nil), never will be (an error), or returns what to wait for.
func (l *Log) onDisk(offset int64) (moved <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case offset < l.erased.synced:
		return nil, nil
	case l.err != nil:
		return nil, l.err
	case l.state == closed:
		return nil, ErrClosed
	}
	if l.pending.queued == queued && l.config.Durability == Async {
		l.o.Committer.add(l, Sync) // it is waiting for the interval
	}
	return l.movedLocked(), nil
}

// erasedWrite is one change of the file.
type erasedWrite struct {
	offsets *offsetSet // what is in it afterwards and was not before
	image   []byte
	at      int64 // where it goes in the file
	anew    bool  // it is all of the file; none is left when it is empty
}

// writeErased writes what is erased to the file, durably, as far as the records themselves are on the disk. The caller
// holds the turn.
func (l *Log) writeErased() error {
	w := l.beginErased()
	if w == nil {
		return nil
	}
	return l.endErased(w, w.write(l))
}

// beginErased takes over what is pending; nil when nothing is.
func (l *Log) beginErased() *erasedWrite {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.erased
	w := &erasedWrite{offsets: e.pending.part(0, e.synced), at: e.size}
	if w.offsets.count == 0 && !e.stale {
		return nil
	}
	e.pending.subtract(w.offsets)
	w.image = appendErasures(nil, w.offsets)
	w.anew = e.stale || e.size == 0 || e.wasteful(int64(len(w.image)))
	if w.anew {
		w.image, w.at = nil, 0
		if written := e.set.without(&e.pending); written.count > 0 {
			w.image = appendErasures(appendErasedHeader(nil), written)
		}
	}
	e.stale = false
	return w
}

// wasteful says that the file, with so many bytes more, is much larger than it has to be.
func (e *erasures) wasteful(more int64) bool {
	return e.size+more > 2*int64(len(e.set.blocks))*blockCost+erasedSlack
}

// without returns a set without the offsets of another; perhaps itself.
func (s *offsetSet) without(other *offsetSet) *offsetSet {
	if other.count == 0 {
		return s
	}
	rest := s.part(0, maxBase)
	rest.subtract(other)
	return rest
}

func (w *erasedWrite) write(l *Log) error {
	name := path.Join(l.o.Dir, erasedName)
	switch {
	case !w.anew:
		return w.append(l, name)
	case len(w.image) > 0:
		if err := writeAtomic(l.o.FS, name, w.image); err != nil {
			return err
		}
	default:
		if err := l.o.FS.Remove(name); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove %s: %w", erasedName, err)
		}
	}
	return l.o.FS.SyncDir(l.o.Dir)
}

func (w *erasedWrite) append(l *Log, name string) error {
	file, err := l.o.FS.Open(name)
	if err != nil {
		return fmt.Errorf("open %s: %w", erasedName, err)
	}
	defer file.Close()
	if _, err := file.WriteAt(w.image, w.at); err != nil {
		return fmt.Errorf("write %s: %w", erasedName, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", erasedName, err)
	}
	return nil
}

// endErased takes note of what became of the write. After an error that passes it is to be done again, and after any other
// the log has failed.
func (l *Log) endErased(w *erasedWrite, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.erased
	if err == nil {
		e.size = w.at + int64(len(w.image))
		return nil
	}
	e.stale = true // whatever is in the file now
	for o := range w.offsets.all(0, maxBase) {
		if e.set.has(o) { // it may be gone meanwhile
			e.pending.add(o)
		}
	}
	if isFull(err) || outOfFiles(err) {
		l.laterLocked()
		return spaceError(err)
	}
	return l.failLocked(err)
}

// forgetErasedLocked takes offsets out of the list whose records are gone.
func (l *Log) forgetErasedLocked(forget func(s *offsetSet)) {
	e := &l.erased
	if e.set.count == 0 && e.size == 0 {
		return
	}
	forget(&e.set)
	forget(&e.pending)
	if e.size > 0 && (e.set.count == 0 || e.wasteful(0)) {
		e.stale = true
		l.laterLocked()
	}
}

// loadErased takes over what the file says of the log as it was recovered.
func (l *Log) loadErased(found foundErased) error {
	l.mu.Lock()
	e := &l.erased
	e.set, e.size, e.synced = found.set, found.size, l.bounds.End
	e.stale = len(found.bad) > 0 || found.torn > 0
	e.set.remove(0, l.segments[0].base)
	known := e.set.count
	e.set.remove(l.bounds.End, maxBase+1<<33)
	ahead := e.set.count < known
	e.stale = e.stale || ahead
	l.mu.Unlock()
	if !ahead {
		return nil
	}
	return l.writeErased() // before these offsets are given out
}
