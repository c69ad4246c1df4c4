package log

import (
	"bytes"
	"fmt"
	"slices"
)

const (
	// hideBytes is how much is read into memory to leave erased records out, more only for a single batch. It is what a client
	// far away gets in one round trip.
	hideBytes = 256 << 10
	// wholeBytes is the length from which on a run of batches that have none is given out as it lies in the file.
	wholeBytes = 64 << 10
)

// withErased calls f with what is erased and the log's lock held: errStale when the view's segment is not part of the log any
// more, since what was taken off the disk is no longer in the list.
func (v *view) withErased(f func(erased *offsetSet)) error {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.segments, v.segment) {
		return errStale
	}
	f(&l.erased.set)
	return nil
}

// passErased goes on from a batch of which nothing is left from offset on to the next one that has something. It is false
// when there is none in the segment; but when there is none in the whole log it returns the last batch, since readers have
// to get past it.
func (v *view) passErased(offset int64, at place) (place, bool, error) {
	for {
		var kept int64 // the first offset from here on that is not erased
		err := v.withErased(func(erased *offsetSet) { kept = erased.absent(max(offset, at.base)) })
		if err != nil || kept < at.next {
			return at, true, err
		}
		if kept >= v.end && !v.final {
			return at, false, nil
		}
		offset = min(kept, v.end-1)
		next, found, err := v.find(offset)
		if err != nil || !found {
			return at, v.final, err
		}
		if at = next; kept >= v.end {
			return at, true, nil
		}
	}
}

// whole shortens a run, of which first is the first batch, to what can be given out as it lies in the file. It is false
// when that is not worth it, or not possible; then the run is short enough to be filtered in memory.
func (v *view) whole(run Range, first place) (Range, bool, error) {
	var next int64 // the first erased offset
	var found bool
	err := v.withErased(func(erased *offsetSet) { next, found = erased.next(run.Base, run.Next) })
	if err != nil || !found {
		return run, true, err
	}
	if next >= first.next {
		at, _, err := v.find(next)
		if err != nil {
			return run, false, err
		}
		if clean := at.from - run.Position; clean >= wholeBytes {
			run, err = v.run(first, clean)
			return run, true, err
		}
	}
	if run.Length > hideBytes {
		run, err = v.run(first, hideBytes)
	}
	return run, false, err
}

// filter returns a run without its erased records, in memory. When nothing is left, that is the empty header of the last
// batch.
func (v *view) filter(run Range) (Range, error) {
	var erased *offsetSet
	if err := v.withErased(func(all *offsetSet) { erased = all.part(run.Base, run.Next) }); err != nil {
		return Range{}, err
	}
	raw := make([]byte, run.Length)
	if n, err := v.file.ReadAt(raw, run.Position); n < len(raw) {
		return Range{}, fmt.Errorf("read batches: %w", err)
	}
	f := filter{erased: erased, unpackLimit: unpackLimit}
	var out []byte
	for len(raw) > 0 {
		b, rest, err := ParseBatch(raw)
		if err != nil {
			return Range{}, fmt.Errorf("read batches: %w", err)
		}
		raw = rest
		if erased.in(b.BaseOffset(), b.LastOffset()+1) > 0 {
			if err := b.CheckCRC(); err != nil { // it gets a new checksum
				return Range{}, fmt.Errorf("read batches of %s twice: %w", v.segment.name(), err)
			}
			last := len(raw) == 0 && len(out) == 0
			if b, _, err = f.apply(b, maxBatchSize, func(Batch) bool { return last }); err != nil {
				return Range{}, fmt.Errorf("leave out erased records: %w", err)
			}
		}
		out = append(out, b...)
	}
	run.File, run.Position, run.Length = bytes.NewReader(out), 0, int64(len(out))
	return run, nil
}
