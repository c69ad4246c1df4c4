package log

import (
	"fmt"
	"path"

	"brokerd/log/vfs"
)

// settle makes the directory fit what was decided: files cut and synced, an active segment to append to.
func (r *recoverer) settle() error {
	l := r.log
	r.next = max(r.next, r.end, r.cp.start, r.cp.epochs[len(r.cp.epochs)-1].start)
	if !r.report.Clean {
		if err := r.syncTail(); err != nil {
			return err
		}
	}
	fits := r.fits()
	if !fits {
		if err := r.startSegment(); err != nil {
			return err
		}
	}
	if fits && r.report.Checkpoint == nil {
		return nil
	}
	for _, s := range l.segments {
		if !s.finished {
			if s.base != r.cp.segment {
				r.cp.segment, r.cp.position, r.cp.next = s.base, 0, s.base
			}
			break
		}
	}
	r.cp.clean = false
	return r.cp.write(l.o.FS, l.o.Dir)
}

// syncTail cuts the scanned segments to their size and makes them, and all names, durable: what was read from them may
// have been in memory only.
func (r *recoverer) syncTail() error {
	l := r.log
	for _, s := range l.segments[min(r.tail, len(l.segments)):] {
		file, err := l.o.Files.acquire(l.o.FS, s)
		if err != nil {
			return err
		}
		if r.failed {
			err = r.rewrite(file, s.size)
		}
		if err == nil {
			err = r.cutTo(file, s.size)
		}
		if err == nil {
			err = file.Sync()
		}
		l.o.Files.release(file)
		if err != nil {
			return fmt.Errorf("cut and sync %s: %w", s.name(), err)
		}
	}
	if r.failed {
		if err := l.o.FS.Remove(path.Join(l.o.Dir, failedName)); err != nil {
			return fmt.Errorf("remove the note of a failure: %w", err)
		}
	}
	return l.o.FS.SyncDir(l.o.Dir)
}

func (r *recoverer) cutTo(file vfs.File, size int64) error {
	if now, err := file.Size(); err != nil || now == size && !r.failed {
		return err
	}
	return file.Truncate(size)
}

// rewrite writes what a file holds over itself. After a failed sync the system believes that this is on the disk.
func (r *recoverer) rewrite(file vfs.File, size int64) error {
	buf := r.log.o.Files.buffer()
	defer r.log.o.Files.buffers.Put(buf)
	for pos := int64(0); pos < size; pos += int64(len(*buf)) {
		b := (*buf)[:min(int64(len(*buf)), size-pos)]
		if n, err := file.ReadAt(b, pos); n < len(b) {
			return err
		}
		if _, err := file.WriteAt(b, pos); err != nil {
			return err
		}
	}
	return nil
}

// fits says that appends can go on in the last segment: its batches reach up to the next offset.
func (r *recoverer) fits() bool {
	l := r.log
	if len(l.segments) == 0 {
		return false
	}
	s := l.active()
	if n := len(s.damage); n > 0 && s.damage[n-1].Position+s.damage[n-1].Length >= s.size {
		return false
	}
	return !s.finished && r.next == r.end && (s.size > 0 || s.base == r.next)
}

// startSegment begins a segment at the next offset. An empty one before it has no use any more.
func (r *recoverer) startSegment() error {
	l := r.log
	s, err := l.createLocked(r.next)
	if err != nil {
		return err
	}
	if n := len(l.segments); n == 0 {
		if err := l.o.FS.SyncDir(path.Dir(l.o.Dir)); err != nil {
			return err
		}
	} else if last := l.segments[n-1]; last.size == 0 {
		if err := l.removeFiles(last); err != nil {
			return err
		}
		l.segments = l.segments[:n-1]
	}
	l.segments = append(l.segments, s)
	return nil
}
