package log

import (
	"encoding/binary"
	"math"
	"slices"
	"time"
)

// filter decides what is left of one batch after compaction (FORMAT.md, "What is left of a batch"). It is for one
// goroutine, and what it returns is valid until its next call.
type filter struct {
	erased       *offsetSet // these go
	keys         *keyMap    // nil when keys do not matter: nothing else goes then
	now          time.Time
	tombstoneAge time.Duration
	unpackLimit  int

	gone   []int64 // offsets that sift left out and that were not erased
	intact bool    // apply left a batch alone that may hold erased records: it cannot be read, or packed as small again

	records []byte // unpacked
	kept    []byte // those of them that stay
	header  [HeaderSize]byte
}

// remains is what stays of a batch's records.
type remains struct {
	records    []byte
	count      int32
	maxTime    int64
	tombstones bool // some have no value
}

// apply returns what is to be stored in place of b, which is b itself when nothing changes, and how many records went.
// Nil is for a batch that goes altogether; one for which keep is true leaves its header at least. It takes room bytes at
// most; b fits into that.
func (f *filter) apply(b Batch, room int64, keep func(Batch) bool) (left Batch, removed int64, err error) {
	f.intact, f.gone = false, f.gone[:0]
	if b.Control() {
		return b, 0, nil
	}
	r, err := f.sift(b)
	if err != nil {
		f.intact = true
		return b, 0, unreadable(err)
	}
	removed = int64(b.Count() - r.count)
	mark := r.tombstones && f.marks(b, room)
	switch {
	case r.count == 0 && !keep(b):
		return nil, removed, nil
	case removed == 0 && !mark:
		return b, 0, nil
	case r.count == 0:
		return b.emptied(), removed, nil
	}
	left, err = f.rebuild(b, r, mark)
	if err == nil && int64(len(left)) > room { // packed worse than the producer did
		f.intact = true
		return b, 0, nil
	}
	return left, removed, err
}

// marks says that a batch with tombstones gets a delete horizon: it has none, nothing older than its tombstones is left
// after this pass, and the longer time deltas fit.
func (f *filter) marks(b Batch, room int64) bool {
	_, marked := b.deleteHorizon()
	return f.keys != nil && !marked && f.tombstoneAge >= 0 && b.LastOffset() < f.keys.end &&
		b.Size()+int64(b.Count())*binary.MaxVarintLen64 <= room
}

// sift collects the records that stay.
func (f *filter) sift(b Batch) (remains, error) {
	records, err := f.unpack(b)
	if err != nil {
		return remains{}, err
	}
	horizon, marked := b.deleteHorizon()
	expired := marked && f.now.UnixMilli() >= horizon
	r := remains{records: f.kept[:0], maxTime: math.MinInt64}
	err = b.parse(records, func(rec Record, raw []byte) bool {
		switch {
		case f.erased.has(rec.Offset):
		case !f.stays(rec, expired):
			f.gone = append(f.gone, rec.Offset)
		default:
			r.records = append(r.records, raw...)
			r.count++
			r.maxTime = max(r.maxTime, rec.Timestamp)
			r.tombstones = r.tombstones || rec.Value == nil
		}
		return true
	})
	f.kept = r.records
	return r, err
}

// stays says whether a record outlives compaction, unless it was erased. What the key map does not reach does: the next
// pass decides.
func (f *filter) stays(r Record, expired bool) bool {
	switch {
	case f.keys == nil || r.Offset >= f.keys.end:
		return true
	case r.Key == nil || f.keys.superseded(r):
		return false
	}
	return r.Value != nil || !expired
}

// unpack returns the encoded records of b.
func (f *filter) unpack(b Batch) (records []byte, err error) {
	if b.Codec() == NoCodec {
		return b[HeaderSize:], nil
	}
	records, err = b.Codec().Decompress(f.records[:0], b[HeaderSize:], f.unpackLimit)
	if err == nil {
		f.records = records
	}
	return records, err
}

// rebuild makes the batch with the records that stay. With mark set it gets a delete horizon, which takes the place of
// the base timestamp.
func (f *filter) rebuild(b Batch, r remains, mark bool) (Batch, error) {
	h := Batch(append(f.header[:0], b[:HeaderSize]...))
	h.setCount(r.count)
	if !h.LogAppendTime() {
		h.setMaxTimestamp(r.maxTime)
	}
	if mark {
		horizon := f.now.Add(f.tombstoneAge).UnixMilli()
		r.records = retime(r.records, h.BaseTimestamp()-horizon)
		h.setAttributes(h.Attributes() | attrDeleteHorizon)
		h.setBaseTimestamp(horizon)
	}
	return assemble(h, r.records, b.Codec())
}

// retime adds d to the time delta of every encoded record; parse has accepted them. A sum that overflows is right all
// the same, since the reader's overflows too.
func retime(records []byte, d int64) []byte {
	out := make([]byte, 0, len(records)+len(records)/4)
	var scratch [binary.MaxVarintLen64]byte
	for len(records) > 0 {
		size, n := binary.Varint(records)
		record := records[n : n+int(size)]
		records = records[n+int(size):]
		delta, m := binary.Varint(record[1:]) // behind the attributes
		moved := binary.AppendVarint(scratch[:0], delta+d)
		out = binary.AppendVarint(out, size+int64(len(moved)-m))
		out = append(out, record[0])
		out = append(out, moved...)
		out = append(out, record[1+m:]...)
	}
	return out
}

// emptied is the header alone: it still stands for the batch's offsets and sequences.
func (b Batch) emptied() Batch {
	h := Batch(slices.Clone(b[:HeaderSize]))
	h.setLength()
	h.setAttributes(h.Attributes() & (attrLogAppendTime | attrTransactional | attrControl))
	h.setBaseTimestamp(-1)
	h.setCount(0)
	h.setCRC()
	return h
}
