package log

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// inspector judges the bytes of one segment file: Scan, recovery and verification all use it, so that they agree on
// what damage is. It believes no field before a checksum or a neighbour confirms it, and its memory does not depend on
// what the file says. It is for one goroutine.
//
// A stored batch is good when
//
//   - its header has magic 2 and a length that ends within the data;
//   - its base offset is at least the one expected, and its offsets stay within the 2^31 that a segment's index can
//     address. A larger base than expected is legal: compaction and recovery leave gaps;
//   - its CRC is right. It covers neither base offset nor epoch, so a base offset after a gap must also leave room for
//     the next batch.
type inspector struct {
	r   io.ReaderAt
	end int64  // size of the file
	buf []byte // its capacity, at least HeaderSize, is how much is read at once
	at  int64  // buf mirrors the file from here
}

const inspectWindow = 256 << 10

func newInspector(r io.ReaderAt, end int64) *inspector {
	return &inspector{r: r, end: end, buf: make([]byte, 0, min(end, inspectWindow))}
}

// check judges the batch at pos, where no offset below min may come: it is good when reason is "". The header is nil
// when it cannot be read; of a bad batch it may be wrong in every field. The error is the disk's.
func (i *inspector) check(pos, min int64) (header Batch, reason string, err error) {
	header, reason, err = i.header(pos, min)
	if err != nil || reason != "" {
		return header, reason, err
	}
	if reason, err = i.crc(pos, header); err != nil || reason != "" || header.BaseOffset() == min {
		return header, reason, err
	}
	// Not the offset expected: a gap, or a base offset that went bad. Then the next batch is in its place.
	next := pos + header.Size()
	follower, reason, err := i.header(next, min)
	if err != nil || reason != "" || follower.BaseOffset() > header.LastOffset() {
		return header, "", err
	}
	if reason, err = i.crc(next, follower); err != nil || reason != "" {
		return header, "", err
	}
	return header, fmt.Sprintf("base offset %d, the next batch has %d", header.BaseOffset(), follower.BaseOffset()), nil
}

// header reads the header at pos and judges it without the CRC.
func (i *inspector) header(pos, min int64) (h Batch, reason string, err error) {
	if i.end-pos < HeaderSize {
		return nil, "header is cut off", nil
	}
	b, err := i.window(pos, HeaderSize)
	if err != nil {
		return nil, "", err
	}
	h = append(Batch(nil), b[:HeaderSize]...)
	return h, h.implausible(i.end-pos, min), nil
}

// implausible says what is wrong with a header, of a batch that has room bytes and whose offsets start at min.
func (b Batch) implausible(room, min int64) string {
	switch magic, base := b[posMagic], b.BaseOffset(); {
	case magic != 2:
		return fmt.Sprintf("magic %d, want 2", magic)
	case b.Size() < HeaderSize || b.Size() > room:
		return fmt.Sprintf("length %d, %d bytes are here", b.Size(), room)
	case base < min || base-min > math.MaxInt32 || b.LastOffset() < base:
		return fmt.Sprintf("base offset %d, want %d or a little more", base, min)
	case b.LastOffsetDelta() < 0 || b.Count() < 0 || int64(b.Count()) > int64(b.LastOffsetDelta())+1:
		return fmt.Sprintf("%d records, last offset delta %d", b.Count(), b.LastOffsetDelta())
	}
	return ""
}

func (i *inspector) crc(pos int64, h Batch) (reason string, err error) {
	sum, end := uint32(0), pos+h.Size()
	for pos += posAttributes; pos < end; {
		b, err := i.window(pos, 1)
		if err != nil {
			return "", err
		}
		b = b[:min(int64(len(b)), end-pos)]
		sum = crc32.Update(sum, castagnoli, b)
		pos += int64(len(b))
	}
	if sum != h.CRC() {
		return fmt.Sprintf("checksum %08x, computed %08x", h.CRC(), sum), nil
	}
	return "", nil
}

// window returns the bytes from pos on, at least n of them and as many as are buffered; valid until the next call.
func (i *inspector) window(pos int64, n int) ([]byte, error) {
	if off := pos - i.at; off >= 0 && off+int64(n) <= int64(len(i.buf)) {
		return i.buf[off:], nil
	}
	i.at, i.buf = pos, i.buf[:min(int64(cap(i.buf)), i.end-pos)]
	got, err := i.r.ReadAt(i.buf, pos)
	i.buf = i.buf[:got]
	if got >= n {
		return i.buf, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF // the file shrank
	}
	return nil, fmt.Errorf("read at %d: %w", pos, err)
}

// dataEnd returns the position that follows the last byte that is not zero: what comes after it was never written,
// or is the zeros that a batch ends with. A batch that begins at or after it does not exist.
func (i *inspector) dataEnd() (int64, error) {
	for end := i.end; end > 0; {
		start := max(end-int64(cap(i.buf)), 0)
		b, err := i.window(start, int(end-start))
		if err != nil {
			return 0, err
		}
		b = b[:end-start]
		if zeros(b) {
			end = start
			continue
		}
		for n := len(b); ; n-- {
			if b[n-1] != 0 {
				return start + int64(n), nil
			}
		}
	}
	return 0, nil
}

func zeros(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }
