package log

import (
	"errors"
	"fmt"
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
