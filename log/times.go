package log

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	timeReadBytes = 1 << 20  // how much is read at once while looking for a time
	unpackLimit   = 64 << 20 // of one batch
)

// TimeOffset is a record found by time.
type TimeOffset struct {
	Offset    int64
	Timestamp int64 // milliseconds since 1970
	Epoch     int32 // leader epoch of its batch
}

// OffsetForTime finds the first readable record, in offset order, whose time is at or after timestamp (milliseconds);
// found is false when there is none. Damaged batches are passed over. Errors: ErrClosed, and those of the file system.
func (l *Log) OffsetForTime(timestamp int64) (t TimeOffset, found bool, err error) {
	for offset := l.Bounds().Start; ; {
		var from int64
		end, err := l.look(offset, func(v *view) (err error) {
			from, err = v.notBefore(timestamp)
			return err
		})
		if start, moved := startMoved(err); moved {
			offset = start
			continue
		}
		if err != nil || end < 0 {
			return TimeOffset{}, false, err
		}
		t, found, err = l.searchTime(max(offset, from), end, timestamp)
		if found || err != nil {
			return t, found, err
		}
		offset = end
	}
}

// startMoved says that an offset is not readable any more, because retention or Trim was faster.
func startMoved(err error) (start int64, moved bool) {
	var outside *RangeError
	if errors.As(err, &outside) && outside.Offset < outside.Start {
		return outside.Start, true
	}
	return 0, false
}

// notBefore returns the first offset in the segment, as far as the index knows, that may have a time at or after t.
func (v *view) notBefore(t int64) (int64, error) {
	if err := v.useIndex(); err != nil {
		return 0, err
	}
	// The last entry of a segment with an index on disk holds its largest time.
	if n := len(v.index.times); !v.resident && (n == 0 || v.index.times[n-1].time < t) {
		return v.end, nil
	}
	return v.segment.base + v.index.older(t) + 1, nil
}

// searchTime looks at the records from offset from up to before end for the first one at or after t.
func (l *Log) searchTime(from, end, t int64) (TimeOffset, bool, error) {
	var result TimeOffset
	found := false
	err := l.eachBatch(from, end, func(b Batch) (bool, error) {
		if b.MaxTimestamp() < t {
			return true, nil
		}
		err := b.Each(unpackLimit, func(r Record) bool {
			found = r.Timestamp >= t && r.Offset >= from
			if found {
				result = TimeOffset{r.Offset, r.Timestamp, b.LeaderEpoch()}
			}
			return !found
		})
		return !found, unreadable(err)
	})
	return result, found, err
}

// unreadable drops the errors of a batch whose records cannot be unpacked: no reader can use them either.
func unreadable(err error) error {
	if errors.Is(err, ErrBadBatch) || errors.Is(err, ErrBadCodec) || errors.Is(err, ErrInflated) {
		return nil
	}
	return err
}

// eachBatch calls f for each readable batch that has offsets in [from, end), until f returns false.
func (l *Log) eachBatch(from, end int64, f func(Batch) (bool, error)) error {
	var buf []byte
	for from < end {
		r, err := l.Read(from, timeReadBytes)
		var corrupt *CorruptError
		start, moved := startMoved(err)
		switch {
		case errors.As(err, &corrupt):
			from = corrupt.Last + 1
			continue
		case moved:
			from = start
			continue
		case err != nil:
			return err
		case r.Length == 0:
			return nil
		}
		buf, err = r.ReadAll(buf)
		r.Close()
		if err != nil {
			return err
		}
		from = r.Next
		for rest := buf; len(rest) > 0; {
			var b Batch
			if b, rest, err = ParseBatch(rest); err != nil {
				return fmt.Errorf("read batches: %w", err)
			}
			if b.BaseOffset() >= end {
				return nil
			}
			if more, err := f(b); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// newest is what the index of a segment says about its largest time.
type newest struct {
	start, end int64 // offsets of the segment that are readable
	time       int64 // no record's time is larger; MaxInt64 when that is not known
	last       int64 // last offset of the batch that holds it
	from       int64 // when it is not known: it is in this offset's batch, or later
}

// MaxTimestamp finds the first readable record with the largest time; found is false for an empty log. Damaged batches
// are passed over. Errors: ErrClosed, and those of the file system.
func (l *Log) MaxTimestamp() (t TimeOffset, found bool, err error) {
	segments, err := l.newestTimes()
	if err != nil {
		return TimeOffset{}, false, err
	}
	slices.SortFunc(segments, func(a, b newest) int {
		return cmp.Or(cmp.Compare(b.time, a.time), cmp.Compare(a.start, b.start))
	})
	for _, n := range segments {
		if found && (n.time < t.Timestamp || n.time == t.Timestamp && n.start > t.Offset) {
			continue
		}
		s, ok, err := l.newestRecord(n)
		if err != nil {
			return TimeOffset{}, false, err
		}
		if ok && (!found || s.Timestamp > t.Timestamp || s.Timestamp == t.Timestamp && s.Offset < t.Offset) {
			t, found = s, true
		}
	}
	return t, found, nil
}

// newestTimes asks the index of every readable segment for its largest time.
func (l *Log) newestTimes() (list []newest, err error) {
	for offset := l.Bounds().Start; ; {
		var n newest
		end, err := l.look(offset, func(v *view) (err error) {
			n, err = v.newest(offset)
			return err
		})
		if start, moved := startMoved(err); moved {
			offset = start
			continue
		}
		if err != nil || end < 0 {
			return list, err
		}
		list = append(list, n)
		offset = end
	}
}

// newest reads the index, for offsets from start on.
func (v *view) newest(start int64) (newest, error) {
	if err := v.useIndex(); err != nil {
		return newest{}, err
	}
	base, times := v.segment.base, v.index.times
	n := newest{start: start, end: v.end, time: math.MaxInt64, from: start}
	largest := v.largest
	if !v.resident {
		largest = timeEntry{time: -1}
		if len(times) > 0 {
			largest = times[len(times)-1]
		}
	}
	if last := base + int64(largest.last); last < v.end {
		n.time, n.last = largest.time, last
		return n, nil
	}
	// The largest time is not durable yet. Up to the last entry that is, the index knows.
	for _, e := range slices.Backward(times) {
		if last := base + int64(e.last); last < v.end {
			n.from = max(start, last)
			break
		}
	}
	return n, nil
}

// newestRecord finds the first record with the largest time in one segment.
func (l *Log) newestRecord(n newest) (t TimeOffset, found bool, err error) {
	if n.time != math.MaxInt64 && n.last >= n.start {
		t, found, err = l.newestIn(n.last, n.last+1, n.start)
		if err != nil || found && t.Timestamp == n.time {
			return t, found, err
		}
	}
	return l.newestIn(n.from, n.end, n.start)
}

// newestIn looks at the batches with offsets in [from, end), at their records from offset start on.
func (l *Log) newestIn(from, end, start int64) (t TimeOffset, found bool, err error) {
	err = l.eachBatch(from, end, func(b Batch) (bool, error) {
		if found && b.MaxTimestamp() <= t.Timestamp {
			return true, nil
		}
		err := b.Each(unpackLimit, func(r Record) bool {
			if r.Offset >= start && (!found || r.Timestamp > t.Timestamp) {
				t, found = TimeOffset{r.Offset, r.Timestamp, b.LeaderEpoch()}, true
			}
			return true
		})
		return true, unreadable(err)
	})
	return t, found, err
}
