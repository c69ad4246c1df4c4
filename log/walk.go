package log

import "io"

// walker steps over the batches of a segment, good and bad, and knows what the segment after it begins with.
type walker struct {
	inspector
	pos   int64 // where the next step begins
	next  int64 // the lowest offset that may come
	limit int64 // offsets stay below it
}

// walkFile walks over the first size bytes of a file, through a borrowed buffer.
func walkFile(file io.ReaderAt, buf []byte, size, base, limit int64) walker {
	return walker{inspector: inspector{r: file, end: size, buf: buf[:0]}, next: base, limit: limit}
}

// step returns the next stretch and moves behind it; io.EOF at the end.
func (w *walker) step() (stretch, error) {
	if w.pos >= w.end {
		return stretch{}, io.EOF
	}
	s, err := w.stretch(w.pos, w.next, w.end)
	if err != nil {
		return s, err
	}
	if s.header != nil && s.next > w.limit { // the last base offset went bad: nothing behind it contradicts it
		s.damage = &CorruptError{Position: s.pos, Length: s.end - s.pos, Reason: "offsets reach into the next segment"}
		s.header, s.tail = nil, true
	}
	if s.damage != nil && (s.tail && w.limit < maxBase || s.next > w.limit) {
		s.damage.First, s.damage.Last, s.next = w.next, w.limit-1, w.limit
	}
	w.pos, w.next = s.end, s.next
	return s, nil
}

// survey is what a walk over a segment finds out.
type survey struct {
	indexer *indexer
	checked spans
	damage  []CorruptError
}

// add takes note of a stretch.
func (v *survey) add(st stretch, s *segment, interval int) {
	if st.damage != nil {
		st.damage.Segment = s.name()
		v.damage = append(v.damage, *st.damage)
		return
	}
	v.indexer.add(st.header, s.base, st.pos, interval)
	v.checked = v.checked.add(span{st.pos, st.end, st.next})
}

// walkAll surveys the first size bytes of a segment whose offsets stay below limit.
func walkAll(file io.ReaderAt, buf []byte, s *segment, size, limit int64, interval int) (survey, error) {
	v := survey{indexer: newIndexer()}
	w := walkFile(file, buf, size, s.base, limit)
	for {
		st, err := w.step()
		if err == io.EOF {
			return v, nil
		}
		if err != nil {
			return v, err
		}
		v.add(st, s, interval)
	}
}
