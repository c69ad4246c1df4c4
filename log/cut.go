package log

import (
	"encoding/binary"
	"slices"
)

const (
	sector = 512 // the unit in which a disk loses data

	// skipBlind is how many offsets are skipped for bytes that were cut off and do not tell how many they held.
	skipBlind = 65536

	// sureZeros is how many zero bytes at the end of a batch are taken for a lost part of a sector. Records end with a
	// few of their own.
	sureZeros = 16
)

// torn says that bad bytes, where offset first should be, were written and never synced. Otherwise they are damage.
func (r *recoverer) torn(t *tailScan, st stretch, first int64) (bool, error) {
	mayCut := t.newest || r.report.Checkpoint == nil // without a checkpoint, older segments may be no tail at all
	if st.pos < t.protected || !mayCut {
		return false, nil
	}
	if st.tail {
		return true, nil
	}
	return t.missing(st.pos, st.end, first)
}

// missing says whether a sector between pos and end, where the batch of offset first should be, was never written: a
// whole one is zero; or the part that the batch has of its first one is, though its offset is not; or its part of the
// last one is, if that is long enough not to be a payload's own zeros.
func (i *inspector) missing(pos, end, first int64) (bool, error) {
	for at := pos; at < end; {
		next := min(at-at%sector+sector, end)
		b, err := i.window(at, int(next-at))
		if err != nil {
			return false, err
		}
		if b = b[:next-at]; zeros(b) {
			offset := binary.BigEndian.AppendUint64(nil, uint64(first))
			switch {
			case len(b) == sector, at > pos && len(b) >= sureZeros:
				return true, nil
			case at == pos && (len(b) > len(offset) || !zeros(offset[:len(b)])):
				return true, nil
			}
		}
		at = next
	}
	return false, nil
}

// cutAt ends the log at pos in segment i. The offsets that the bytes behind it may have been given are skipped.
func (r *recoverer) cutAt(i int, pos int64, w *walker) error {
	r.log.segments[i].size = pos
	after, err := r.beyond(&w.inspector, pos, r.end)
	if err != nil {
		return err
	}
	return r.drop(i+1, after, w.buf)
}

// drop removes segments from number i on. Offsets below after were given out, and so were those in them.
func (r *recoverer) drop(i int, after int64, buf []byte) error {
	l := r.log
	dropped := l.segments[i:]
	for _, s := range dropped {
		file, err := l.o.Files.acquire(l.o.FS, s)
		if err != nil {
			return err
		}
		after, err = r.beyond(&inspector{r: file, end: s.size, buf: buf[:0]}, 0, max(after, s.base))
		l.o.Files.release(file)
		if err != nil {
			return err
		}
	}
	if err := r.skip(after); err != nil {
		return err
	}
	for _, s := range slices.Backward(dropped) {
		if err := l.removeFiles(s); err != nil {
			return err
		}
	}
	l.segments = l.segments[:i]
	return nil
}

// skip makes sure, durably and before anything is cut, that no offset below after is given out again.
func (r *recoverer) skip(after int64) error {
	if after == r.end {
		return nil
	}
	r.report.SkippedOffsets += after - r.end
	r.next = after
	epoch := r.cp.epochs[len(r.cp.epochs)-1].epoch + 1
	r.cp.epochs = append(r.cp.epochs, epochStart{epoch, after})
	r.cp.clean = false
	return r.cp.write(r.log.o.FS, r.log.o.Dir)
}

// beyond returns the offset behind all that the bytes from pos on, which are cut off, may have been given; next is the
// first one.
func (r *recoverer) beyond(in *inspector, pos, next int64) (int64, error) {
	dataEnd, err := in.dataEnd()
	if err != nil {
		return 0, err
	}
	r.report.CutBytes += max(dataEnd-pos, 0)
	for pos < dataEnd {
		h, _, err := in.header(pos, next)
		if err != nil {
			return 0, err
		}
		if h != nil && h[posMagic] == 2 && h.BaseOffset() == next && h.Size() >= HeaderSize && h.LastOffsetDelta() >= 0 {
			pos, next = pos+h.Size(), h.LastOffset()+1 // perhaps wrong, but then some offsets too many are skipped
			continue
		}
		pos, h, err = in.search(pos+1, dataEnd, next)
		if err != nil {
			return 0, err
		}
		if h == nil {
			return next + skipBlind, nil
		}
		next = h.BaseOffset()
	}
	return next, nil
}
