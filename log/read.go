package log

import (
	"errors"
	"fmt"
)

// errStale says that the index was made anew: whatever was found through the old one is void.
var errStale = errors.New("index changed")

// Read returns whole batches from the one that holds offset (or, in a gap, from the next one), at most maxBytes of
// them but always at least one, all below Durable and all in one segment. At Durable it returns an empty Range.
// Errors: *RangeError below Start or above End, *CorruptError when the batch at offset is damaged, ErrClosed, and those
// of the file system; ErrFailed never: a log that failed can still be read.
// The caller must call Range.Close.
func (l *Log) Read(offset int64, maxBytes int64) (Range, error) {
	for {
		var r Range
		end, err := l.look(offset, func(v *view) (err error) {
			r, err = v.read(offset, maxBytes)
			return err
		})
		if err != nil {
			return Range{}, err
		}
		if r.Length > 0 {
			return r, nil
		}
		if end < 0 {
			return Range{Base: offset, Next: offset}, nil
		}
		offset = end // nothing from offset on in that segment
	}
}

// look calls f with a view of the segment for offset, and again with a new view when the index turned out to be wrong. It
// returns where the view's offsets end; -1 when nothing is readable from offset on.
func (l *Log) look(offset int64, f func(v *view) error) (end int64, err error) {
	var stale *view // its file stays open, and so the index made anew in memory, until the next view has it
	for range 3 {
		v, err := l.view(offset)
		stale.close()
		if err != nil || v == nil {
			return -1, err
		}
		if err = f(v); !errors.Is(err, errStale) {
			v.close()
			return v.end, err
		}
		stale = v
	}
	stale.close()
	return -1, fmt.Errorf("read %s: %w again and again", stale.segment.name(), errStale)
}

// view is one reader's look at one segment: the file, its index, and how much of it may be read, none of which changes
// while the log goes on.
type view struct {
	log      *Log
	segment  *segment
	file     *openFile
	index    index
	resident bool      // the index was in memory with the segment: nothing to load
	largest  timeEntry // when resident: the largest time, readable or not
	limit    int64     // bytes that may be read
	end      int64     // offsets in it stay below this
	interval int
	erasures bool    // something is erased: reads have to look
	final    bool    // nothing is readable behind this segment
	lent     *[]byte // buffer, borrowed when it is first needed
	kept     bool    // a Range took over the file
}

// view finds the segment for offset; nil when nothing is readable from there on.
func (l *Log) view(offset int64) (*view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bounds
	switch {
	case l.state == closed:
		return nil, ErrClosed
	case offset < b.Start || offset > b.End:
		return nil, &RangeError{Offset: offset, Start: b.Start, End: b.End}
	case offset >= b.Durable:
		return nil, nil
	}
	i := find(l.segments, offset)
	s := l.segments[i]
	v := &view{log: l, segment: s, limit: s.size, end: b.Durable, interval: l.config.IndexInterval}
	v.erasures = l.erased.set.count > 0
	if s == l.visible.segment {
		v.limit = l.visible.pos
	} else if i+1 < len(l.segments) {
		v.end = min(v.end, l.segments[i+1].base)
	}
	v.final = v.end == b.Durable
	file, err := l.o.Files.acquire(l.o.FS, s)
	if err != nil {
		return nil, err
	}
	v.file = file
	if s.indexer != nil {
		v.index, v.resident = s.indexer.index, true
		v.largest = timeEntry{s.indexer.maxTime, s.indexer.maxLast}
	}
	return v, nil
}

func (v *view) buffer() []byte {
	if v.lent == nil {
		v.lent = v.log.o.Files.buffer()
	}
	return *v.lent
}

// window is the part of the buffer for stepping from header to header, scratch the part for reading everything.
func (v *view) window() []byte  { return v.buffer()[:headerWindow] }
func (v *view) scratch() []byte { return v.buffer()[headerWindow:] }

// close gives back the buffer and, unless a Range has it, the file.
func (v *view) close() {
	if v == nil {
		return
	}
	if v.lent != nil {
		v.log.o.Files.buffers.Put(v.lent)
		v.lent = nil
	}
	if !v.kept {
		v.log.o.Files.release(v.file)
	}
}

// read makes the Range; its length is 0 when the segment has nothing from offset on.
func (v *view) read(offset, maxBytes int64) (Range, error) {
	if err := v.useIndex(); err != nil {
		return Range{}, err
	}
	first, found, err := v.find(offset)
	if err == nil && found && v.erasures {
		first, found, err = v.passErased(offset, first)
	}
	if err != nil || !found {
		return Range{}, err
	}
	run, err := v.run(first, maxBytes)
	if err == nil && v.erasures {
		var whole bool
		if run, whole, err = v.whole(run, first); err == nil && !whole {
			return v.filter(run)
		}
	}
	if err != nil {
		return Range{}, err
	}
	files, file := v.log.o.Files, v.file
	v.kept = true
	run.File = file.File
	run.release = func() { files.release(file) }
	return run, nil
}

// place is where a batch lies, and its offsets.
type place struct {
	span
	base int64
}

// find is locate, and remembers of the header what counts; false when there is none.
func (v *view) find(offset int64) (place, bool, error) {
	pos, h, err := v.locate(offset)
	if err != nil || h == nil {
		return place{}, false, err
	}
	return place{span{pos, pos + h.Size(), h.LastOffset() + 1}, h.BaseOffset()}, true, nil
}

// run is the Range of checked batches from first on: at most maxBytes, but one batch at least.
func (v *view) run(first place, maxBytes int64) (Range, error) {
	target := first.to
	if maxBytes > first.to-first.from {
		target = v.limit
		if maxBytes < v.limit-first.from {
			target = first.from + maxBytes
		}
	}
	run, err := v.extend(first.from, target)
	if err != nil {
		return Range{}, err
	}
	end, next, err := v.boundary(first.to, first.next, min(run, target))
	return Range{Base: first.base, Next: next, Position: first.from, Length: end - first.from}, err
}

// locate finds the batch that holds offset, or the next one. A nil header says that there is none in the segment.
func (v *view) locate(offset int64) (pos int64, h Batch, err error) {
	in := inspector{r: v.file, end: v.limit, buf: v.window()[:0]}
	entry := v.index.floor(offset - v.segment.base)
	for pos = int64(entry.pos); pos < v.limit; {
		run, err := v.extend(pos, pos+1)
		if err != nil {
			return 0, nil, err
		}
		if run == pos {
			d := v.log.damageAt(v.segment, pos)
			if offset <= d.Last {
				return 0, nil, &d
			}
			pos = d.Position + d.Length
			continue
		}
		h, err := v.headerAt(&in, pos, entry)
		if err != nil {
			return 0, nil, err
		}
		if h.LastOffset() >= offset {
			return pos, h, nil
		}
		pos += h.Size()
	}
	return 0, nil, v.log.missing(v.segment, offset)
}

// boundary returns the end of the last batch that ends at or before stop, and the offset that follows it; pos and next
// are a boundary before stop, and everything up to there is checked.
func (v *view) boundary(pos, next, stop int64) (int64, int64, error) {
	in := inspector{r: v.file, end: v.limit, buf: v.window()[:0]}
	entry := v.index.before(stop - 1)
	at := max(pos, int64(entry.pos))
	for at < stop {
		h, err := v.headerAt(&in, at, entry)
		if err != nil {
			return 0, 0, err
		}
		if at+h.Size() > stop {
			if at == int64(entry.pos) && at > pos {
				next = h.BaseOffset() // the batches before the entry were skipped
			}
			break
		}
		at, next = at+h.Size(), h.LastOffset()+1
	}
	return at, next, nil
}

// headerAt reads the header of a checked batch. A position that is no batch, or not the one its index entry says,
// means a wrong index.
func (v *view) headerAt(in *inspector, pos int64, entry offsetEntry) (Batch, error) {
	if v.limit-pos >= HeaderSize {
		b, err := in.window(pos, HeaderSize)
		if err != nil {
			return nil, err
		}
		h := Batch(b[:HeaderSize])
		if h.implausible(v.limit-pos, v.segment.base) == "" && (pos != int64(entry.pos) || entry.last < 0 || h.LastOffset() == v.segment.base+int64(entry.last)) {
			return h, nil
		}
	}
	if err := v.survey(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("read %s: %w", v.segment.name(), errStale)
}
