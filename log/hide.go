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

// erasedIn copies what is erased in [from, to): errStale when the view's segment is not part of the log any more, since
// what was taken off the disk is no longer in the list.
func (v *view) erasedIn(from, to int64) (*offsetSet, error) {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.segments, v.segment) {
		return nil, errStale
	}
	return l.erased.set.part(from, to), nil
}

// nextKept is the first offset from on that is not erased: errStale as erasedIn.
func (v *view) nextKept(from int64) (int64, error) {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.segments, v.segment) {
		return 0, errStale
	}
	return l.erased.set.absent(from), nil
}

// passErased goes on from a batch of which nothing is left from offset on to the next one that has something. It is false
// when there is none in the segment; but when there is none in the whole log it returns the last batch, since readers have
// to get past it.
func (v *view) passErased(offset int64, at place) (place, bool, error) {
	for {
		kept, err := v.nextKept(max(offset, at.base))
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
	erased, found, err := v.firstErased(run)
	if err != nil || !found {
		return run, true, err
	}
	if erased >= first.next {
		at, _, err := v.find(erased)
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

// firstErased is the first erased offset in a run.
func (v *view) firstErased(run Range) (offset int64, found bool, err error) {
	l := v.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.segments, v.segment) {
		return 0, false, errStale
	}
	offset, found = l.erased.set.next(run.Base, run.Next)
	return offset, found, nil
}

// filter returns a run without its erased records, in memory. When nothing is left, that is the empty header of the last
// batch.
func (v *view) filter(run Range) (Range, error) {
	erased, err := v.erasedIn(run.Base, run.Next)
	if err != nil {
		return Range{}, err
	}
	raw := make([]byte, run.Length)
	if n, err := v.file.ReadAt(raw, run.Position); n < len(raw) {
		return Range{}, fmt.Errorf("read batches: %w", err)
	}
	f := filter{erased: erased, unpackLimit: unpackLimit}
	var out []byte
	for len(raw) > 0 {
		var b Batch
		if b, raw, err = ParseBatch(raw); err != nil {
			return Range{}, fmt.Errorf("read batches: %w", err)
		}
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
