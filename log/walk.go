package log

import (
	"fmt"
	"hash/crc32"
	"io"
)

// reader reads a segment file forward through a borrowed buffer.
type reader struct {
	file io.ReaderAt
	buf  []byte
	off  int64 // position in the file of buf[0]
	n    int   // bytes of buf that are valid
}

// peek returns n bytes at pos, less at the end of the file, valid until the next call; n is at most the buffer's size.
func (r *reader) peek(pos int64, n int) ([]byte, error) {
	if pos < r.off || pos+int64(n) > r.off+int64(r.n) {
		got, err := r.file.ReadAt(r.buf, pos)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read segment: %w", err)
		}
		r.off, r.n = pos, got
	}
	b := r.buf[pos-r.off : r.n]
	return b[:min(n, len(b))], nil
}

// header returns the header of the batch at pos, which must end by end, or the fault that makes it none.
func (r *reader) header(pos, end int64) (h Batch, fault string, err error) {
	b, err := r.peek(pos, int(min(HeaderSize, end-pos)))
	if err != nil {
		return nil, "", err
	}
	if len(b) < HeaderSize {
		return nil, "incomplete header", nil
	}
	h = Batch(b)
	switch {
	case h[posMagic] != 2:
		return nil, fmt.Sprintf("magic %d, want 2", h[posMagic]), nil
	case h.Size() < HeaderSize || h.Size() > end-pos:
		return h, fmt.Sprintf("length %d, %d bytes are here", h.Size(), end-pos), nil
	case h.LastOffsetDelta() < 0 || h.Count() < 0 || int64(h.Count()) > int64(h.LastOffsetDelta())+1:
		return nil, fmt.Sprintf("%d records in %d offsets", h.Count(), int64(h.LastOffsetDelta())+1), nil
	}
	return h, "", nil
}

// intact compares the CRC of the batch with header h at pos. h is not valid any more afterwards.
func (r *reader) intact(h Batch, pos int64) (bool, error) {
	want, end, sum := h.CRC(), pos+h.Size(), uint32(0)
	for at := pos + posAttributes; at < end; {
		b, err := r.peek(at, int(min(end-at, int64(len(r.buf)))))
		if err != nil {
			return false, err
		}
		if len(b) == 0 {
			return false, nil
		}
		sum = crc32.Update(sum, castagnoli, b)
		at += int64(len(b))
	}
	return sum == want, nil
}

// zeros says whether the bytes from pos to end are all zero.
func (r *reader) zeros(pos, end int64) (bool, error) {
	for pos < end {
		b, err := r.peek(pos, int(min(end-pos, int64(len(r.buf)))))
		if err != nil || len(b) == 0 {
			return err == nil, err
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		pos += int64(len(b))
	}
	return true, nil
}

// walker steps over the batches of a segment and checks each one: its CRC, and that its offsets follow those before it.
// The base offset lies outside the CRC, so the chain of offsets is its only check.
type walker struct {
	reader
	head  [HeaderSize]byte
	pos   int64 // where the next step begins
	size  int64 // where the data ends
	next  int64 // the lowest base offset that may come
	limit int64 // offsets stay below it
	dense bool  // no gaps: the next base offset is exactly next
}

// piece is what one step met: a good batch, or bytes that are none.
type piece struct {
	pos, length int64
	batch       Batch // header only, valid until the next step; nil for bad bytes
	reason      string
	resumed     bool // bad bytes are followed by a good batch, not by the end
}

// step returns the next piece and moves behind it; io.EOF at the end.
func (w *walker) step() (piece, error) {
	if w.pos >= w.size {
		return piece{}, io.EOF
	}
	p := piece{pos: w.pos}
	h, fault, err := w.good(w.pos)
	if err != nil {
		return p, err
	}
	if fault == "" {
		p.batch, p.length = h, h.Size()
		w.pos, w.next = w.pos+p.length, h.LastOffset()+1
		return p, nil
	}
	to, found, err := w.resync()
	if err != nil {
		return p, err
	}
	p.reason, p.resumed, p.length = fault, found, to-w.pos
	w.pos = to
	return p, nil
}

// good returns the header of the batch at pos if everything about it is right, else what is wrong.
func (w *walker) good(pos int64) (h Batch, fault string, err error) {
	b, fault, err := w.header(pos, w.size)
	if err != nil || fault != "" {
		return nil, fault, err
	}
	copy(w.head[:], b)
	h = Batch(w.head[:])
	base, last := h.BaseOffset(), h.LastOffset()
	switch ok, err := w.intact(b, pos); {
	case err != nil:
		return nil, "", err
	case !ok:
		return nil, "checksum mismatch", nil
	case base < w.next || last < base || last >= w.limit || w.dense && base != w.next:
		return nil, fmt.Sprintf("base offset %d, expected %d", base, w.next), nil
	case base == w.next:
		return h, "", nil
	}
	// A gap, or a base offset that is too large: then the following batch contradicts it.
	b, fault, err = w.header(pos+h.Size(), w.size)
	if err != nil {
		return nil, "", err
	}
	if fault == "" && b.BaseOffset() >= w.next && b.BaseOffset() <= last {
		return nil, fmt.Sprintf("base offset %d, expected %d", base, w.next), nil
	}
	return h, "", nil
}

// resync finds the next good batch behind the bad one at w.pos; w.size if there is none.
func (w *walker) resync() (pos int64, found bool, err error) {
	h, fault, err := w.header(w.pos, w.size)
	if err != nil {
		return 0, false, err
	}
	dense := w.dense
	w.dense = false
	defer func() { w.dense = dense }()
	if fault == "" { // most damage leaves the length as it was
		if at := w.pos + h.Size(); at < w.size {
			if _, fault, err = w.good(at); err != nil || fault == "" {
				return at, err == nil, err
			}
		}
	}
	return w.nextGood(w.pos + 1)
}

// damage turns bad bytes into the error that readers get: the offsets up to the next good batch are withheld.
func (w *walker) damage(s *segment, p piece) (CorruptError, error) {
	d := CorruptError{Segment: s.name(), Position: p.pos, Length: p.length, First: w.next, Last: w.limit - 1, Reason: p.reason}
	if p.resumed {
		h, _, err := w.header(w.pos, w.size)
		if err != nil {
			return d, err
		}
		d.Last = h.BaseOffset() - 1
		w.next = h.BaseOffset() // a dense walk goes on behind the hole
	}
	return d, nil
}

// survey is everything a full walk over a segment finds out.
type survey struct {
	indexer *indexer
	checked spans
	damage  []CorruptError
}

func (v *survey) add(p piece, base int64, interval int) {
	v.indexer.add(p.batch, base, p.pos, interval)
	v.checked = v.checked.add(span{p.pos, p.pos + p.length, p.batch.LastOffset() + 1})
}

// walkAll walks over the first size bytes of a segment whose offsets stay below limit.
func walkAll(file io.ReaderAt, buf []byte, s *segment, size, limit int64, interval int) (survey, error) {
	v := survey{indexer: newIndexer()}
	w := walker{reader: reader{file: file, buf: buf}, size: size, next: s.base, limit: limit}
	for {
		p, err := w.step()
		if err == io.EOF {
			return v, nil
		}
		if err != nil {
			return v, err
		}
		if p.batch != nil {
			v.add(p, s.base, interval)
			continue
		}
		d, err := w.damage(s, p)
		if err != nil {
			return v, err
		}
		v.damage = append(v.damage, d)
	}
}

// nextGood searches byte by byte for a good batch at or behind from; w.size if there is none.
func (w *walker) nextGood(from int64) (pos int64, found bool, err error) {
	for pos := from; pos+HeaderSize <= w.size; pos++ {
		h, fault, err := w.header(pos, w.size)
		if err != nil {
			return 0, false, err
		}
		if fault != "" || h.BaseOffset() < w.next || h.BaseOffset() >= w.limit {
			continue
		}
		if _, fault, err = w.good(pos); err != nil || fault == "" {
			return pos, err == nil, err
		}
	}
	return w.size, false, nil
}
