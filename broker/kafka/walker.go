package kafka

import (
	"encoding/binary"
	"math"
)

// recordBytes walks the body of a Produce request without decoding it and returns how many of its bytes are records.
// They are not copied by decoding; everything else is multiplied by it, and is bounded like other requests.
// The result is false for a body that is malformed.
func recordBytes(body []byte, version int16) (int64, bool) {
	w := walker{b: body, flexible: version >= 9, ok: true}
	w.string()
	w.skip(2 + 4) // acks, timeout
	records := int64(0)
	for topics := w.array(); topics > 0 && w.ok; topics-- {
		if version >= 13 {
			w.skip(16)
		} else {
			w.string()
		}
		for parts := w.array(); parts > 0 && w.ok; parts-- {
			w.skip(4)
			n := w.bytes()
			w.skip(n)
			records += max(n, 0) // null is -1
			w.tags()
		}
		w.tags()
	}
	w.tags()
	return records, w.ok
}

// walker steps over the fields of a request. After a field that does not fit, ok is false and all lengths are 0.
type walker struct {
	b        []byte
	flexible bool
	ok       bool
}

func (w *walker) skip(n int64) {
	if !w.ok || n > int64(len(w.b)) {
		w.ok = false
		return
	}
	w.b = w.b[max(n, 0):]
}

func (w *walker) array() int64 { return w.length(4) }
func (w *walker) bytes() int64 { return w.length(4) }
func (w *walker) string()      { w.skip(w.length(2)) }

// length reads a length of size bytes, or in flexible versions a varint of the length plus one. Null is -1, and like the
// decoder it takes what does not fit 31 bits for a negative number.
func (w *walker) length(size int) int64 {
	if w.flexible {
		return int64(int32(w.uvarint())) - 1
	}
	if !w.ok || len(w.b) < size {
		w.ok = false
		return 0
	}
	b := w.b[:size]
	w.b = w.b[size:]
	if size == 2 {
		return int64(int16(binary.BigEndian.Uint16(b)))
	}
	return int64(int32(binary.BigEndian.Uint32(b)))
}

func (w *walker) uvarint() uint64 {
	v, n := binary.Uvarint(w.b)
	if !w.ok || n <= 0 || v > math.MaxUint32 {
		w.ok = false
		return 0
	}
	w.b = w.b[n:]
	return v
}

// tags steps over a section of tagged fields (KIP-482).
func (w *walker) tags() {
	if !w.flexible {
		return
	}
	for n := w.uvarint(); n > 0 && w.ok; n-- {
		w.uvarint()
		w.skip(int64(w.uvarint()))
	}
}
