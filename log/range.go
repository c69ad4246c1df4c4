package log

import (
	"fmt"
	"io"
	"slices"
)

// Range is a run of whole, durable, checked batches in one segment file, without the records that were erased. It keeps
// the file open until Close, even when retention deletes the segment meanwhile. The zero Range is empty.
type Range struct {
	Base     int64       // base offset of the first batch; <= the offset asked for, unless that was in a gap
	Next     int64       // the offset that follows the last batch
	File     io.ReaderAt // the segment, or memory when erased records were left out
	Position int64       // first byte
	Length   int64       // 0 when there is nothing to read yet
	release  func()
}

// ReadAll appends the bytes to buf[:0], grown as needed.
func (r Range) ReadAll(buf []byte) ([]byte, error) {
	if r.Length == 0 {
		return buf[:0], nil
	}
	buf = slices.Grow(buf[:0], int(r.Length))[:r.Length]
	if n, err := r.File.ReadAt(buf, r.Position); n < len(buf) {
		return nil, fmt.Errorf("read batches: %w", err)
	}
	return buf, nil
}

// Close lets go of the file. It may be called once, also on the zero Range.
func (r Range) Close() {
	if r.release != nil {
		r.release()
	}
}
