package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"

	"brokerd/log/vfs"
)

const (
	sector = 512 // the unit in which a disk loses data

	// skipBlind is how many offsets are skipped for bytes that were cut off and do not tell how many they held.
	skipBlind = 65536

	// sureZeros is how many zero bytes at the end of a batch are taken for a lost part of a sector. Records end with a
	// few of their own.
	sureZeros = 16
)

// scanTail checks the batches from the recovery point on, and cuts.
func (r *recoverer) scanTail() error {
	l := r.log
	for _, s := range l.segments[:r.tail] {
		s.finished, s.indexer = true, nil
	}
	if len(l.segments) == 0 {
		return nil
	}
	if clean, err := r.openClean(); clean || err != nil {
		return err
	}
	buf := l.o.Files.buffer()
	defer l.o.Files.buffers.Put(buf)
	for i := r.tail; i < len(l.segments); i++ {
		s := l.segments[i]
		if i > r.tail && s.base != r.end && !r.jumped(s.base) { // the end of the one before it never reached the disk
			return r.drop(i, r.end, *buf)
		}
		r.end = s.base
		if cut, err := r.scanSegment(i, *buf); cut || err != nil {
			return err
		}
	}
	return nil
}

// jumped says that a segment may begin at base although offsets before it are missing: a recovery skipped them, or we
// cannot know.
func (r *recoverer) jumped(base int64) bool {
	for _, e := range r.cp.epochs {
		if e.start == base {
			return true
		}
	}
	return r.report.Checkpoint != nil
}

// openClean takes over the log as Close left it.
func (r *recoverer) openClean() (bool, error) {
	l := r.log
	s := l.active()
	if r.failed || !r.cp.clean || r.cp.segment != s.base || r.cp.position != s.size {
		return false, nil
	}
	x, err := r.loadIndex(s, r.cp.position)
	if errors.Is(err, errBadIndex) {
		r.report.IndexesRebuilt++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.indexer = x.resume(s.size)
	r.end = r.cp.next
	r.report.Clean = true
	return true, nil
}

// loadIndex loads the index of the first size bytes of the segment at the recovery point.
func (r *recoverer) loadIndex(s *segment, size int64) (index, error) {
	l := r.log
	file, err := l.o.Files.acquire(l.o.FS, s)
	if err != nil {
		return index{}, err
	}
	defer l.o.Files.release(file)
	buf := l.o.Files.buffer()
	defer l.o.Files.buffers.Put(buf)
	return readIndex(l.o.FS, s, file, (*buf)[:headerWindow], size, r.cp.next, l.config.IndexInterval)
}

// tailScan is the scan of one segment of the tail.
type tailScan struct {
	walker
	survey
	segment   *segment
	newest    bool  // no segment follows
	protected int64 // the bytes below it were durable: never cut
}

// scanSegment checks a segment of the tail; cut says that the log ends in it now.
func (r *recoverer) scanSegment(i int, buf []byte) (cut bool, err error) {
	l := r.log
	s := l.segments[i]
	file, err := l.o.Files.acquire(l.o.FS, s)
	if err != nil {
		return false, err
	}
	defer l.o.Files.release(file)
	t := &tailScan{
		walker:  walkFile(file, buf, s.size, s.base, maxBase),
		survey:  survey{indexer: newIndexer()},
		segment: s,
		newest:  i == len(l.segments)-1,
	}
	if !t.newest {
		t.limit = l.segments[i+1].base
	}
	if err := r.skipChecked(t); err != nil {
		return false, err
	}
	r.report.ScannedBytes += s.size - t.pos
	bad, err := r.scan(t)
	if err != nil {
		return false, err
	}
	s.indexer, s.checked, s.damage = t.indexer, t.checked, t.survey.damage
	r.end = t.next
	if bad != nil {
		r.end = bad.damage.First
		return true, r.cutAt(i, bad.pos, &t.walker)
	}
	s.size = t.pos
	r.lost(t)
	return false, nil
}

// skipChecked begins the scan at the recovery point if that lies inside the segment and the index reaches up to it.
func (r *recoverer) skipChecked(t *tailScan) error {
	if t.segment.base != r.cp.segment || r.cp.position == 0 {
		return nil
	}
	t.protected = r.cp.position
	if t.protected > t.walker.end {
		return nil
	}
	x, err := r.loadIndex(t.segment, t.protected)
	if errors.Is(err, errBadIndex) {
		r.report.IndexesRebuilt++
		return nil
	}
	if err != nil {
		return err
	}
	t.indexer = x.resume(t.protected)
	t.pos, t.next = t.protected, r.cp.next
	return nil
}

// scan goes through the segment, until its data ends or bytes come that must be cut off: it returns those.
func (r *recoverer) scan(t *tailScan) (bad *stretch, err error) {
	dataEnd, err := t.dataEnd()
	if err != nil {
		return nil, err
	}
	for t.pos < dataEnd {
		first := t.next
		st, err := t.step()
		if err != nil {
			return nil, err
		}
		if st.header != nil {
			r.noteEpoch(st.header)
		} else {
			torn, err := r.torn(t, st, first)
			if err != nil {
				return nil, err
			}
			if torn {
				st.damage.First = first
				return &st, nil
			}
			if st.tail && t.newest {
				st.damage.First = first
				st.damage.Last = max(st.damage.Last, r.cp.next-1)
				t.next = st.damage.Last + 1
			}
		}
		t.add(st, t.segment, r.log.config.IndexInterval)
	}
	return nil, nil
}

// lost reports durable bytes that are missing at the end of a segment.
func (r *recoverer) lost(t *tailScan) {
	s := t.segment
	if s.size >= t.protected || r.end >= r.cp.next {
		return
	}
	s.damage = append(s.damage, CorruptError{
		Segment: s.name(), Position: s.size, First: r.end, Last: r.cp.next - 1,
		Reason: fmt.Sprintf("the file ends here, it had %d bytes", t.protected),
	})
	r.end = r.cp.next
}

// torn says that bad bytes, where offset first should be, were written and never synced. Otherwise they are damage.
func (r *recoverer) torn(t *tailScan, st stretch, first int64) (bool, error) {
	mayCut := t.newest || r.report.Checkpoint == nil // without a checkpoint, older segments may be no tail at all
	if st.pos < t.protected || !mayCut {
		return false, nil
	}
	if st.tail {
		return true, nil
	}
	return t.missing(st.pos, st.end, first)
}

// missing says whether a sector between pos and end, where the batch of offset first should be, was never written: a
// whole one is zero; or the part that the batch has of its first one is, though its offset is not; or its part of the
// last one is, if that is long enough not to be a payload's own zeros.
func (i *inspector) missing(pos, end, first int64) (bool, error) {
	for at := pos; at < end; {
		next := min(at-at%sector+sector, end)
		b, err := i.window(at, int(next-at))
		if err != nil {
			return false, err
		}
		if b = b[:next-at]; zeros(b) {
			offset := binary.BigEndian.AppendUint64(nil, uint64(first))
			switch {
			case len(b) == sector, at > pos && len(b) >= sureZeros:
				return true, nil
			case at == pos && (len(b) > len(offset) || !zeros(offset[:len(b)])):
				return true, nil
			}
		}
		at = next
	}
	return false, nil
}

// cutAt ends the log at pos in segment i. The offsets that the bytes behind it may have been given are skipped.
func (r *recoverer) cutAt(i int, pos int64, w *walker) error {
	r.log.segments[i].size = pos
	after, err := r.beyond(&w.inspector, pos, r.end)
	if err != nil {
		return err
	}
	return r.drop(i+1, after, w.buf)
}

// drop removes segments from number i on. Offsets below after were given out, and so were those in them.
func (r *recoverer) drop(i int, after int64, buf []byte) error {
	l := r.log
	dropped := l.segments[i:]
	for _, s := range dropped {
		file, err := l.o.Files.acquire(l.o.FS, s)
		if err != nil {
			return err
		}
		after, err = r.beyond(&inspector{r: file, end: s.size, buf: buf[:0]}, 0, max(after, s.base))
		l.o.Files.release(file)
		if err != nil {
			return err
		}
	}
	if err := r.skip(after); err != nil {
		return err
	}
	for _, s := range slices.Backward(dropped) {
		if err := l.removeFiles(s); err != nil {
			return err
		}
	}
	l.segments = l.segments[:i]
	return nil
}

// skip makes sure, durably and before anything is cut, that no offset below after is given out again.
func (r *recoverer) skip(after int64) error {
	if after == r.end {
		return nil
	}
	r.report.SkippedOffsets += after - r.end
	r.next = after
	epoch := r.cp.epochs[len(r.cp.epochs)-1].epoch + 1
	r.cp.epochs = append(r.cp.epochs, epochStart{epoch, after})
	r.cp.clean = false
	return r.cp.write(r.log.o.FS, r.log.o.Dir)
}

// beyond returns the offset behind all that the bytes from pos on, which are cut off, may have been given; next is the
// first one.
func (r *recoverer) beyond(in *inspector, pos, next int64) (int64, error) {
	dataEnd, err := in.dataEnd()
	if err != nil {
		return 0, err
	}
	r.report.CutBytes += max(dataEnd-pos, 0)
	for pos < dataEnd {
		h, _, err := in.header(pos, next)
		if err != nil {
			return 0, err
		}
		if h != nil && h[posMagic] == 2 && h.BaseOffset() == next && h.Size() >= HeaderSize && h.LastOffsetDelta() >= 0 {
			pos, next = pos+h.Size(), h.LastOffset()+1 // perhaps wrong, but then some offsets too many are skipped
			continue
		}
		pos, h, err = in.search(pos+1, dataEnd, next)
		if err != nil {
			return 0, err
		}
		if h == nil {
			return next + skipBlind, nil
		}
		next = h.BaseOffset()
	}
	return next, nil
}

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
