package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
)

// Sizes of index entries on disk (FORMAT.md, "Offset index" and "Time index").
const (
	offsetEntrySize = 8
	timeEntrySize   = 12
)

// errBadIndex wraps what is wrong with an index. It never leaves the package: a bad index is made anew.
var errBadIndex = errors.New("invalid index")

// offsetEntry says that the batch at position pos ends with offset base + last.
type offsetEntry struct {
	last, pos int32
}

// timeEntry says that the batch that ends with offset base + last holds the largest time seen up to it.
type timeEntry struct {
	time int64
	last int32
}

// index is a segment's sparse offset and time index. Entries are only ever appended, so a copy of the struct is a
// consistent snapshot that needs no lock.
type index struct {
	offsets []offsetEntry
	times   []timeEntry
}

// floor returns the position of a batch at or before the one that holds the relative offset rel, as close as known.
func (x index) floor(rel int64) offsetEntry {
	i := sort.Search(len(x.offsets), func(i int) bool { return int64(x.offsets[i].last) > rel })
	if i == 0 {
		return offsetEntry{last: -1}
	}
	return x.offsets[i-1]
}

// before returns the last entry whose batch begins at most at pos.
func (x index) before(pos int64) offsetEntry {
	i := sort.Search(len(x.offsets), func(i int) bool { return int64(x.offsets[i].pos) > pos })
	if i == 0 {
		return offsetEntry{last: -1}
	}
	return x.offsets[i-1]
}

// older returns the relative offset up to which every batch's time is below t; -1 when nothing is known.
func (x index) older(t int64) int64 {
	i := sort.Search(len(x.times), func(i int) bool { return x.times[i].time >= t })
	if i == 0 {
		return -1
	}
	return int64(x.times[i-1].last)
}

func (x index) encodeOffsets() []byte {
	b := make([]byte, 0, len(x.offsets)*offsetEntrySize)
	for _, e := range x.offsets {
		b = binary.BigEndian.AppendUint32(b, uint32(e.last))
		b = binary.BigEndian.AppendUint32(b, uint32(e.pos))
	}
	return b
}

func (x index) encodeTimes() []byte {
	b := make([]byte, 0, len(x.times)*timeEntrySize)
	for _, e := range x.times {
		b = binary.BigEndian.AppendUint64(b, uint64(e.time))
		b = binary.BigEndian.AppendUint32(b, uint32(e.last))
	}
	return b
}

// decodeIndex reads both files of an index and checks what they say in themselves, for a segment of size bytes whose
// offsets stay below base + span.
func decodeIndex(offsets, times []byte, size, span int64) (index, error) {
	var x index
	if len(offsets)%offsetEntrySize != 0 || len(times)%timeEntrySize != 0 {
		return x, fmt.Errorf("%w: sizes %d and %d are not whole entries", errBadIndex, len(offsets), len(times))
	}
	prev := offsetEntry{last: -1}
	for ; len(offsets) > 0; offsets = offsets[offsetEntrySize:] {
		e := offsetEntry{
			last: int32(binary.BigEndian.Uint32(offsets)),
			pos:  int32(binary.BigEndian.Uint32(offsets[4:])),
		}
		if e.last <= prev.last || e.pos <= prev.pos || int64(e.pos) > size-HeaderSize || int64(e.last) >= span {
			return x, fmt.Errorf("%w: offset entry %d", errBadIndex, len(x.offsets))
		}
		x.offsets, prev = append(x.offsets, e), e
	}
	before := timeEntry{time: math.MinInt64, last: -1}
	for ; len(times) > 0; times = times[timeEntrySize:] {
		e := timeEntry{
			time: int64(binary.BigEndian.Uint64(times)),
			last: int32(binary.BigEndian.Uint32(times[8:])),
		}
		if e.time <= before.time || e.last <= before.last || int64(e.last) >= span {
			return x, fmt.Errorf("%w: time entry %d", errBadIndex, len(x.times))
		}
		x.times, before = append(x.times, e), e
	}
	return x, nil
}

// indexer builds the index of a segment while its batches go by.
type indexer struct {
	index
	since   int64 // bytes since the last entry
	maxTime int64 // largest time so far; -1 for none
	maxLast int32 // relative last offset of the first batch that holds it
}

func newIndexer() *indexer { return &indexer{maxTime: -1} }

// resume returns an indexer that goes on behind a loaded index, for a segment of size bytes.
func (x index) resume(size int64) *indexer {
	ix := &indexer{index: x, since: size, maxTime: -1}
	if n := len(x.offsets); n > 0 {
		ix.since = size - int64(x.offsets[n-1].pos)
	}
	if n := len(x.times); n > 0 {
		ix.maxTime, ix.maxLast = x.times[n-1].time, x.times[n-1].last
	}
	return ix
}

// add takes note of the batch at pos. The first batch of a segment never gets an entry, and every other one that has
// more than interval bytes between it and the last entry does.
func (x *indexer) add(h Batch, base, pos int64, interval int) {
	last := int32(h.LastOffset() - base)
	if t := h.newestTime(); t > x.maxTime {
		x.maxTime, x.maxLast = t, last
	}
	if x.since > int64(interval) {
		x.offsets = append(x.offsets, offsetEntry{last: last, pos: int32(pos)})
		x.addTime()
		x.since = 0
	}
	x.since += h.Size()
}

// addTime adds the largest time so far to the time index, unless it is there. It is called once more when the segment
// is sealed, so that the last entry holds the segment's largest time.
func (x *indexer) addTime() {
	n := len(x.times)
	if x.maxTime >= 0 && (n == 0 || x.times[n-1].time < x.maxTime) {
		x.times = append(x.times, timeEntry{time: x.maxTime, last: x.maxLast})
	}
}
