package log

import "math"

// stretch is a part of a segment file: one good batch, or one damaged range.
type stretch struct {
	pos, end int64
	next     int64         // the lowest offset that may follow
	header   Batch         // of the good batch; nil for damage
	damage   *CorruptError // nil for a good batch; Segment is not set
	tail     bool          // damage up to the end of the data: no good batch follows
}

// walk calls f for every stretch of the segment from pos on, in order, until the data ends; min is the lowest offset
// that may come. The errors are f's and the disk's.
//
// Data ends where only zeros follow: a crash can leave a file longer than what was written to it. The offsets of damage are those between its
// neighbours. Those of damage at the tail are the ones that its header claims, or the next one alone when it claims none
// that can be.
func (i *inspector) walk(pos, min int64, f func(stretch) error) error {
	dataEnd, err := i.dataEnd()
	if err != nil {
		return err
	}
	for pos < dataEnd {
		s, err := i.stretch(pos, min, dataEnd)
		if err != nil {
			return err
		}
		if err := f(s); err != nil {
			return err
		}
		pos, min = s.end, s.next
	}
	return nil
}

func (i *inspector) stretch(pos, min, dataEnd int64) (stretch, error) {
	h, reason, err := i.check(pos, min)
	if err != nil {
		return stretch{}, err
	}
	if reason == "" {
		return stretch{pos: pos, end: pos + h.Size(), next: h.LastOffset() + 1, header: h}, nil
	}
	end, follower, err := i.nextGood(pos, min)
	if err != nil {
		return stretch{}, err
	}
	s := stretch{pos: pos, end: end, damage: &CorruptError{Position: pos, First: min, Reason: reason}}
	if follower != nil {
		s.next = follower.BaseOffset()
		s.damage.Last = s.next - 1
	} else {
		s.tail, s.end = true, dataEnd
		s.damage.First, s.damage.Last = claimed(h, min)
		s.next = s.damage.Last + 1
	}
	s.damage.Length = s.end - pos
	return s, nil
}

// claimed returns the offsets in the header of a damaged batch, if they are possible from min on.
func claimed(h Batch, min int64) (first, last int64) {
	if h == nil || h.BaseOffset() < min || h.BaseOffset()-min > math.MaxInt32 || h.LastOffset() < h.BaseOffset() {
		return min, min
	}
	return h.BaseOffset(), h.LastOffset()
}
