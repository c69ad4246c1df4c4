package log

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
)

const (
	sector = 512 // the unit in which a disk loses data

	// skipBlind is how many offsets are skipped for bytes that were cut off and do not tell how many they held.
	skipBlind = 65536
)

// scanTail checks the batches from the recovery point on, and cuts.
func (r *recoverer) scanTail() error {
	l := r.log
	for _, s := range l.segments[:r.tail] {
		s.finished, s.sealed, s.indexer = true, true, nil
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
	if !r.cp.clean || r.cp.segment != s.base || r.cp.position != s.size {
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
		walker:  walker{reader: reader{file: file, buf: buf}, size: s.size, next: s.base, limit: math.MaxInt64, dense: true},
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
	s.indexer, s.checked, s.damage = t.indexer, t.checked, t.survey.damage
	r.end = t.next
	switch {
	case err != nil:
		return false, err
	case bad.verdict == torn:
		return true, r.cutAt(i, bad.pos, &t.walker)
	case bad.verdict == reserved:
		s.size = bad.pos
	}
	r.lost(t)
	return false, nil
}

// skipChecked begins the scan at the recovery point if that lies inside the segment and the index reaches up to it.
func (r *recoverer) skipChecked(t *tailScan) error {
	if t.segment.base != r.cp.segment || r.cp.position == 0 {
		return nil
	}
	t.protected = r.cp.position
	if t.protected > t.size {
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

// ending is where the good batches of a segment end, and why.
type ending struct {
	verdict verdict
	pos     int64
}

// scan goes through the segment up to its end, or to bytes that must be cut off.
func (r *recoverer) scan(t *tailScan) (ending, error) {
	for {
		p, err := t.step()
		if err == io.EOF {
			return ending{}, nil
		}
		if err != nil {
			return ending{}, err
		}
		if p.batch != nil {
			r.noteEpoch(p.batch)
			t.add(p, t.segment.base, r.log.config.IndexInterval)
			continue
		}
		v, err := r.judge(t, p)
		if v != damaged || err != nil {
			return ending{v, p.pos}, err
		}
		d, err := t.walker.damage(t.segment, p)
		if err != nil {
			return ending{}, err
		}
		if !p.resumed && t.newest {
			d.Last = max(r.cp.next, t.next+1) - 1
		}
		t.next = d.Last + 1
		t.survey.damage = append(t.survey.damage, d)
	}
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

// verdict is what bad bytes are taken for.
type verdict uint8

const (
	damaged  verdict = iota
	reserved         // zeros that were never written
	torn             // written, never synced
)

// judge decides about bad bytes.
func (r *recoverer) judge(t *tailScan, p piece) (verdict, error) {
	mayCut := t.newest || r.report.Checkpoint == nil // without a checkpoint, older segments may be no tail at all
	switch {
	case p.pos < t.protected:
		return damaged, nil
	case p.resumed:
		missing, err := missingSector(&t.reader, p.pos, p.pos+p.length)
		if missing && mayCut {
			return torn, err
		}
		return damaged, err
	}
	zero, err := t.zeros(p.pos, t.size)
	switch {
	case err != nil:
		return damaged, err
	case zero:
		return reserved, nil
	case mayCut:
		return torn, nil
	}
	return damaged, nil
}

// missingSector says whether one of the sectors between from and to is all zeros.
func missingSector(r *reader, from, to int64) (bool, error) {
	for at := (from + sector - 1) / sector * sector; at+sector <= to; at += sector {
		zero, err := r.zeros(at, at+sector)
		if err != nil || zero {
			return zero, err
		}
	}
	return false, nil
}

// cutAt ends the log at pos in segment i. The offsets that the bytes behind it may have been given are skipped.
func (r *recoverer) cutAt(i int, pos int64, w *walker) error {
	after, used, err := beyond(w, pos, r.end)
	if err != nil {
		return err
	}
	r.report.CutBytes += used - pos
	r.log.segments[i].size = pos
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
		w := &walker{reader: reader{file: file, buf: buf}, size: s.size, limit: math.MaxInt64}
		last, used, err := beyond(w, 0, max(after, s.base))
		l.o.Files.release(file)
		if err != nil {
			return err
		}
		r.report.CutBytes += used
		after = last
	}
	if err := r.skip(after); err != nil {
		return err
	}
	for j := len(dropped) - 1; j >= 0; j-- {
		if err := l.removeFiles(dropped[j]); err != nil {
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

// beyond returns the offset behind all that the bytes from pos on may hold, of which the first is at least next, and
// where the bytes end that are not reserved space.
func beyond(w *walker, pos, next int64) (after, used int64, err error) {
	w.dense, w.limit, w.next = false, math.MaxInt64, next
	used = pos
	for pos < w.size {
		zero, err := w.zeros(pos, w.size)
		if err != nil || zero {
			return w.next, used, err
		}
		h, fault, err := w.header(pos, math.MaxInt64)
		if err != nil {
			return 0, 0, err
		}
		if fault == "" && h.BaseOffset() == w.next {
			w.next = h.LastOffset() + 1
			pos += h.Size()
			used = min(pos, w.size)
			continue
		}
		at, found, err := w.nextGood(pos + 1)
		if err != nil {
			return 0, 0, err
		}
		if !found {
			return w.next + skipBlind, w.size, nil
		}
		if h, _, err = w.header(at, w.size); err != nil {
			return 0, 0, err
		}
		w.next = h.BaseOffset()
		pos = at
	}
	return w.next, used, nil
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
		if s.allocated > s.size {
			err = file.Truncate(s.size)
			s.allocated = s.size
		}
		if err == nil {
			err = file.Sync()
		}
		l.o.Files.release(file)
		if err != nil {
			return fmt.Errorf("cut and sync %s: %w", s.name(), err)
		}
	}
	return l.o.FS.SyncDir(l.o.Dir)
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
