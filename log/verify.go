package log

import (
	"cmp"
	"errors"
	"slices"
)

// headerWindow is how much is read at once while stepping from header to header.
const headerWindow = 4 << 10

// extend makes sure that the batches from pos on are checked up to at least to, and returns where the run of good
// batches ends: before to only where damage begins, or at the view's limit. When pos itself is damaged that is pos.
func (v *view) extend(pos, to int64) (run int64, err error) {
	for {
		known, damaged := v.log.checkedRun(v.segment, pos)
		if damaged || known.to >= min(to, v.limit) {
			return min(known.to, v.limit), nil
		}
		good, err := v.verify(known, to)
		if err != nil {
			return 0, err
		}
		if !good {
			if err := v.survey(); err != nil {
				return 0, err
			}
			return 0, errStale
		}
	}
}

// checkedRun returns the run of checked batches at pos (empty: pos to pos, next -1), and whether damage ends it.
func (l *Log) checkedRun(s *segment, pos int64) (run span, damaged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run, found := s.checked.at(pos)
	if !found {
		run = span{pos, pos, -1}
	}
	return run, s.damageAt(run.to) != nil
}

// damageAt returns the damage at pos.
func (l *Log) damageAt(s *segment, pos int64) CorruptError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := s.damageAt(pos); d != nil {
		return *d
	}
	panic("log: no damage where a run of good batches ended")
}

// missing returns a CorruptError if the end of the segment, with this offset, was lost.
func (l *Log) missing(s *segment, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(s.damage); n > 0 && s.damage[n-1].Length == 0 && offset <= s.damage[n-1].Last {
		d := s.damage[n-1]
		return &d
	}
	return nil
}

// verify reads the batches behind a run of checked ones and checks them, up to at least to. It is false when one of them
// is not as it should be.
func (v *view) verify(run span, to int64) (bool, error) {
	in := inspector{r: v.file, end: v.limit, buf: v.scratch()[:0]}
	from, pos, next := run.to, run.to, max(run.next, v.segment.base)
	for pos < min(to, v.limit) {
		h, reason, err := in.check(pos, next)
		if err != nil {
			return false, err
		}
		if reason != "" || h.LastOffset() >= v.end {
			return false, nil
		}
		pos, next = pos+h.Size(), h.LastOffset()+1
	}
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	v.segment.checked = v.segment.checked.add(span{from, pos, next})
	return true, nil
}

// useIndex loads the index of a finished segment, or makes it anew.
func (v *view) useIndex() (err error) {
	if v.resident {
		return nil
	}
	var loaded bool
	if v.index, loaded = v.file.loadedIndex(); loaded {
		return nil
	}
	v.index, err = readIndex(v.log.o.FS, v.segment, v.file, v.window(), v.limit, v.end, v.interval)
	if errors.Is(err, errBadIndex) {
		return cmp.Or(v.survey(), errStale)
	}
	if err == nil {
		v.file.setIndex(v.index)
	}
	return err
}

// survey walks over the whole segment as far as it may be read, because something in it, or in its index, is wrong. It
// makes the index anew and finds all damage.
func (v *view) survey() error {
	found, err := walkAll(v.file, v.scratch(), v.segment, v.limit, v.end, v.interval)
	if err != nil {
		return err
	}
	for _, d := range v.log.adopt(v, found) {
		if v.log.o.OnDamage != nil {
			v.log.o.OnDamage(d)
		}
	}
	return nil
}

// adopt takes over what a survey found and returns the damage that was not known.
func (l *Log) adopt(v *view, found survey) (fresh []CorruptError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := v.segment
	for _, d := range found.damage {
		if s.addDamage(d) {
			fresh = append(fresh, d)
		}
	}
	s.checked = found.checked.behind(s.checked, v.limit)
	if s.indexer != nil {
		s.indexer = found.indexer.behind(s.indexer, s, v.limit, v.end-s.base)
		return fresh
	}
	found.indexer.addTime()
	x := found.indexer.index
	old, loaded := v.file.loadedIndex()
	if loaded && slices.Equal(old.offsets, x.offsets) && slices.Equal(old.times, x.times) {
		return fresh
	}
	v.file.setIndex(x)
	l.o.Files.rebuilt.Add(1)
	l.pending.seals = append(l.pending.seals, sealing{segment: s, rebuilt: &x})
	l.dirtyLocked()
	return fresh
}

// behind returns the list followed by what old has from pos on.
func (l spans) behind(old spans, pos int64) spans {
	for _, s := range old {
		if s.to > pos {
			l = l.add(span{max(s.from, pos), s.to, s.next})
		}
	}
	return l
}

// behind returns the indexer followed by the entries that old has for batches from pos on, which end above the relative
// offset rel.
func (x *indexer) behind(old *indexer, s *segment, pos, rel int64) *indexer {
	for _, e := range old.offsets {
		if int64(e.pos) >= pos {
			x.offsets = append(x.offsets, e)
		}
	}
	for _, e := range old.times {
		if int64(e.last) >= rel && (len(x.times) == 0 || x.times[len(x.times)-1].time < e.time) {
			x.times = append(x.times, e)
		}
	}
	if int64(old.maxLast) >= rel && old.maxTime > x.maxTime {
		x.maxTime, x.maxLast = old.maxTime, old.maxLast
	}
	x.since = s.size
	if n := len(x.offsets); n > 0 {
		x.since = s.size - int64(x.offsets[n-1].pos)
	}
	return x
}
