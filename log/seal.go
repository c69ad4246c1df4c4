package log

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"brokerd/log/vfs"
)

// finishSeals writes the indexes and snapshots of sealed segments whose batches are durable, and moves the recovery
// point behind them. The caller holds the turn. What fails is tried again by the next flush.
func (l *Log) finishSeals(seals []sealing) error {
	if len(seals) == 0 {
		return nil
	}
	indexes := l.sealedIndexes(seals)
	err := l.writeSeals(seals, indexes)
	if err != nil {
		l.mu.Lock()
		l.pending.seals = append(seals, l.pending.seals...)
		l.mu.Unlock()
		return fmt.Errorf("finish segment: %w", err)
	}
	for i, s := range seals {
		if indexes[i] != nil {
			l.o.Files.setIndex(s.segment, *indexes[i])
		}
	}
	return l.writeCheckpoint(func(c *checkpoint) {
		for _, s := range seals {
			s.segment.finished, s.segment.indexer = true, nil
		}
		l.advanceRecoveryLocked(c)
	})
}

// sealedIndexes returns the index of each sealed segment; nil for one that was deleted meanwhile.
func (l *Log) sealedIndexes(seals []sealing) []*index {
	l.mu.Lock()
	defer l.mu.Unlock()
	indexes := make([]*index, len(seals))
	for i, s := range seals {
		switch {
		case !slices.Contains(l.segments, s.segment):
		case s.rebuilt != nil:
			indexes[i] = s.rebuilt
		default:
			indexes[i] = &s.segment.indexer.index
		}
	}
	return indexes
}

func (l *Log) writeSeals(seals []sealing, indexes []*index) error {
	for i, s := range seals {
		if indexes[i] != nil {
			if err := indexes[i].write(l.o.FS, s.segment); err != nil {
				return err
			}
		}
		if s.snapshot != nil {
			if err := s.snapshot.write(l.o.FS, l.o.Dir); err != nil {
				return err
			}
		}
	}
	if err := l.pruneSnapshots(); err != nil {
		return err
	}
	return l.o.FS.SyncDir(l.o.Dir)
}

// advanceRecoveryLocked moves the recovery point to the first segment that is not finished.
func (l *Log) advanceRecoveryLocked(c *checkpoint) {
	for _, s := range l.segments {
		if s.finished {
			continue
		}
		if s.base != c.segment {
			c.segment, c.position, c.next = s.base, 0, s.base
		}
		return
	}
}

// writeCheckpoint changes the checkpoint, with the lock held, and then writes it. The caller holds the turn.
func (l *Log) writeCheckpoint(change func(c *checkpoint)) error {
	l.mu.Lock()
	c := &l.recovery
	c.clean = false
	c.start = max(c.start, l.bounds.Start)
	change(c)
	image := *c
	l.mu.Unlock()
	return image.write(l.o.FS, l.o.Dir)
}

// markClean writes the active segment's index, a snapshot and a checkpoint that lets the next Open scan nothing. The
// caller holds the turn, and everything is synced.
func (l *Log) markClean() error {
	l.mu.Lock()
	s, end := l.active(), l.bounds.End
	unfinished := len(l.pending.seals) > 0
	s.indexer.addTime()
	x := s.indexer.index
	l.mu.Unlock()
	if unfinished {
		return nil // a seal could not be written: the next Open scans from there
	}
	if err := x.write(l.o.FS, s); err != nil {
		return err
	}
	if l.o.Projection != nil {
		snapshot := snapshotFile{offset: end, state: l.o.Projection.Snapshot()}
		if err := snapshot.write(l.o.FS, l.o.Dir); err != nil {
			return err
		}
		if err := l.pruneSnapshots(); err != nil {
			return err
		}
	}
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return err
	}
	return l.writeCheckpoint(func(c *checkpoint) {
		c.segment, c.position, c.next, c.clean = s.base, s.size, end, true
	})
}

// write stores both files of an index; they are durable after SyncDir.
func (x index) write(fs vfs.FS, s *segment) error {
	if err := writeAtomic(fs, s.sibling(indexSuffix), x.encodeOffsets()); err != nil {
		return err
	}
	return writeAtomic(fs, s.sibling(timeIndexSuffix), x.encodeTimes())
}

// readIndex loads the index of the first size bytes of a segment whose offsets stay below limit, and compares it with
// the segment in a few places. errBadIndex wraps everything that calls for a new index.
func readIndex(fs vfs.FS, s *segment, file io.ReaderAt, buf []byte, size, limit int64, interval int) (index, error) {
	var raw [2][]byte
	for i, suffix := range []string{indexSuffix, timeIndexSuffix} {
		b, err := readFile(fs, s.sibling(suffix), size) // an entry is smaller than the batch that it stands for
		if isNotExist(err) || errors.Is(err, errTooLong) {
			return index{}, fmt.Errorf("%w: %w", errBadIndex, err)
		}
		if err != nil {
			return index{}, err
		}
		raw[i] = b
	}
	x, err := decodeIndex(raw[0], raw[1], size, limit-s.base)
	if err != nil {
		return x, err
	}
	return x, x.probe(&inspector{r: file, end: size, buf: buf[:0]}, s.base, interval)
}

// probe compares some entries with the batches they point to, and makes sure that none are missing at the end.
func (x index) probe(in *inspector, base int64, interval int) error {
	latest := int64(-1)
	if n := len(x.times); n > 0 {
		latest = x.times[n-1].time
	}
	n := len(x.offsets)
	for _, i := range []int{0, n / 3, 2 * n / 3, n - 2} {
		if i < 0 || i >= n-1 {
			continue
		}
		if err := x.probeEntry(in, x.offsets[i], base, latest); err != nil {
			return err
		}
	}
	// The last entry, and the batches behind it: none of them may be due an entry.
	at, since := int64(0), int64(0)
	if n > 0 {
		at = int64(x.offsets[n-1].pos)
		if err := x.probeEntry(in, x.offsets[n-1], base, latest); err != nil {
			return err
		}
	}
	for at < in.end {
		h, reason, err := in.header(at, base)
		if err != nil {
			return err
		}
		if reason != "" {
			return fmt.Errorf("%w: no batch at %d", errBadIndex, at)
		}
		if since > int64(interval) || h.newestTime() > max(latest, -1) {
			return fmt.Errorf("%w: entries missing from %d on", errBadIndex, at)
		}
		since += h.Size()
		at += h.Size()
	}
	return nil
}

func (x index) probeEntry(in *inspector, e offsetEntry, base, latest int64) error {
	h, reason, err := in.header(int64(e.pos), base)
	if err != nil {
		return err
	}
	if reason != "" || h.LastOffset() != base+int64(e.last) || h.newestTime() > latest {
		return fmt.Errorf("%w: entry for %d does not match the batch", errBadIndex, e.pos)
	}
	return nil
}
