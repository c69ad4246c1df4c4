package log

import "bytes"

// nextGood finds the first good batch after the damaged one at from; min is the lowest offset that it may have. It
// returns its position and header, or the end of the file and nil when there is none. The error is the disk's.
//
// The damaged batch's own length names the most likely place. It is taken at once when the batch there continues the
// offsets. Otherwise a good batch may lie before it, if the length is what is wrong, so every byte up to that place (or
// to the end) is tried as the start of a header. A user's record may itself contain a batch, with a good CRC: what the
// search finds must be followed by something that continues it.
func (i *inspector) nextGood(from, min int64) (int64, Batch, error) {
	named, namedHeader := i.end, Batch(nil)
	damaged, _, err := i.header(from, min)
	if err != nil {
		return 0, nil, err
	}
	if damaged != nil && damaged.Size() >= HeaderSize && damaged.Size() < i.end-from {
		h, reason, err := i.check(from+damaged.Size(), min)
		if err != nil {
			return 0, nil, err
		}
		if reason == "" {
			named, namedHeader = from+damaged.Size(), h
		}
		if reason == "" && h.BaseOffset() == damaged.LastOffset()+1 {
			return named, h, nil
		}
	}
	pos, h, err := i.search(from+1, named, min)
	if err != nil || h != nil {
		return pos, h, err
	}
	return named, namedHeader, nil
}

// search tries every position in [from, to).
func (i *inspector) search(from, to, min int64) (int64, Batch, error) {
	for pos := from; pos < to && i.end-pos >= HeaderSize; {
		b, err := i.window(pos, HeaderSize)
		if err != nil {
			return 0, nil, err
		}
		skip := bytes.IndexByte(b[posMagic:], 2)
		if skip < 0 {
			pos += int64(len(b) - posMagic)
			continue
		}
		if pos += int64(skip); pos >= to {
			break
		}
		h, err := i.confirmed(pos, min)
		if err != nil || h != nil {
			return pos, h, err
		}
		pos++
	}
	return i.end, nil, nil
}

// confirmed returns the header of the batch at pos if it is good and what follows continues it.
func (i *inspector) confirmed(pos, min int64) (Batch, error) {
	if b, err := i.window(pos, posMagic+1); err != nil || i.end-pos < HeaderSize || b[posMagic] != 2 {
		return nil, err
	}
	h, reason, err := i.header(pos, min)
	if err != nil || reason != "" {
		return nil, err
	}
	if ok, err := i.continues(pos+h.Size(), h.LastOffset()+1); err != nil || !ok {
		return nil, err
	}
	if h, reason, err = i.check(pos, min); err != nil || reason != "" {
		return nil, err
	}
	return h, nil
}

// continues says whether pos looks like the start of the batch after offset next-1: the end of the data, or a header of
// which at most one of the fields is damaged.
func (i *inspector) continues(pos, next int64) (bool, error) {
	if i.end-pos < HeaderSize {
		return true, nil
	}
	b, err := i.window(pos, HeaderSize)
	if err != nil {
		return false, err
	}
	h := Batch(b[:HeaderSize])
	zeros := bytes.Count(h, []byte{0}) == HeaderSize
	return zeros || h.BaseOffset() == next || h.implausible(i.end-pos, next) == "", nil
}
