package log

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"brokerd/log/vfs"
)

// Recovery says what Open found and did.
type Recovery struct {
	Segments       int
	Clean          bool     // the last stop was clean: nothing was scanned
	ScannedBytes   int64    // bytes of the tail that were read
	CutBytes       int64    // bytes after the last good batch that were cut off (zeros do not count)
	SkippedOffsets int64    // offsets never to be given out again, because their batch was cut off
	IndexesRebuilt int      // missing, short or wrong indexes that were made anew, or will be when they are first used
	Orphans        []string // files removed because they belong to no segment (indexes, temporary files)
	Swaps          int      // interrupted swaps of compacted segments that were ended
	Damaged        []CorruptError
	ErasedDamaged  []CorruptError // damage to the list of erased records: those that were in it can be read again
	Replayed       int            // batches replayed into the Projection
	Checkpoint     error          // why the checkpoint could not be used, and was made anew; nil when it could
	Took           time.Duration
}

// recoverer is one run of recovery.
//
// It works in this order, so that a crash in the middle of it loses nothing: read everything; decide where the log ends;
// write down (checkpoint) the end, if offsets are to be skipped; cut, sync, create; open.
type recoverer struct {
	log      *Log
	report   Recovery
	cp       checkpoint
	siblings map[int64]map[string]int64 // sizes of the index files and snapshots, by base offset and suffix
	failed   bool                       // the last run failed to write or to sync
	erased   foundErased
	tail     int   // the first segment that is scanned
	end      int64 // the offset behind the batches that are there
	next     int64 // the next offset to give out: end, unless some are skipped
}

// recover brings the directory into a state that can be appended to, loads what the log needs in memory, and reports.
//
//   - A checkpoint that says "clean" and fits the files: nothing is scanned.
//   - Otherwise every batch from the recovery point on is checked. Nothing before the recovery point is ever cut.
//   - Zeros up to the end of the file are no data: a crash can leave a file longer than what was written to it.
//   - A bad batch without a good one behind it was being written: it is cut off and its offsets are skipped.
//   - A bad batch with good ones behind it that lacks whole sectors was never synced, and neither was what follows
//     (syncs cover prefixes): cut off likewise, later segments included.
//   - Any other bad batch is damage: kept, withheld, reported.
//   - After a failed sync, the bytes of the tail are written again before they are synced.
//   - When offsets are skipped, the leader epoch grows, and a new segment starts behind them.
func (l *Log) recover() (Recovery, error) {
	r := &recoverer{log: l}
	for _, step := range []func() error{
		r.readNotes, r.finishSwaps, r.inventory, r.locateTail, r.scanTail, r.settle, r.open, r.loadErased,
	} {
		if err := step(); err != nil {
			return r.report, err
		}
	}
	r.report.Segments = len(l.segments)
	return r.report, nil
}

// readNotes reads what cannot be derived from the segments. It refuses a newer format before anything is touched.
func (r *recoverer) readNotes() error {
	l := r.log
	if err := l.o.FS.MkdirAll(l.o.Dir); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	cp, err := readCheckpoint(l.o.FS, l.o.Dir)
	if errors.Is(err, ErrNewerFormat) {
		return err
	}
	r.cp, r.report.Checkpoint = cp, err
	r.erased, err = readErased(l.o.FS, l.o.Dir)
	return err
}

// inventory lists the segments and removes what belongs to none.
func (r *recoverer) inventory() error {
	l := r.log
	entries, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	r.siblings = make(map[int64]map[string]int64)
	for _, e := range entries {
		base, suffix, ok := parseName(e.Name)
		switch {
		case e.Name == failedName:
			r.failed = true
		case path.Ext(e.Name) == tempSuffix || path.Ext(e.Name) == cleanedSuffix:
			r.report.Orphans = append(r.report.Orphans, e.Name)
		case !ok || e.Dir: // not ours
		case suffix == segmentSuffix:
			l.segments = append(l.segments, foundSegment(l.o.Dir, base, e))
		case suffix == indexSuffix || suffix == timeIndexSuffix || suffix == snapshotSuffix:
			if r.siblings[base] == nil {
				r.siblings[base] = make(map[string]int64)
			}
			r.siblings[base][suffix] = e.Size
		}
	}
	if err := r.dropBelowStart(); err != nil {
		return err
	}
	for base, files := range r.siblings {
		owned := slices.ContainsFunc(l.segments, func(s *segment) bool { return s.base == base })
		for suffix := range files {
			if !owned && suffix != snapshotSuffix {
				r.report.Orphans = append(r.report.Orphans, fileName(base, suffix))
			}
		}
	}
	slices.Sort(r.report.Orphans)
	for _, name := range r.report.Orphans {
		if err := l.o.FS.Remove(path.Join(l.o.Dir, name)); err != nil {
			return fmt.Errorf("remove orphan: %w", err)
		}
	}
	return nil
}

func foundSegment(dir string, base int64, e vfs.Entry) *segment {
	s := newSegment(dir, base)
	s.size, s.records = e.Size, uncounted
	s.first, s.last = e.ModTime, e.ModTime
	return s
}

// dropBelowStart removes segments that an interrupted Trim or Retain left.
func (r *recoverer) dropBelowStart() error {
	l := r.log
	for len(l.segments) > 1 && l.segments[1].base <= r.cp.start {
		if err := l.removeFiles(l.segments[0]); err != nil {
			return err
		}
		delete(r.siblings[l.segments[0].base], indexSuffix)
		delete(r.siblings[l.segments[0].base], timeIndexSuffix)
		l.segments = l.segments[1:]
	}
	return nil
}

// locateTail finds out which segments must be scanned; the others are finished.
func (r *recoverer) locateTail() error {
	l := r.log
	if r.report.Checkpoint != nil {
		return r.guess()
	}
	if len(l.segments) == 0 {
		r.next = r.cp.next
		return nil
	}
	r.tail = len(l.segments) - 1
	for r.tail > 0 && l.segments[r.tail].base > r.cp.segment {
		r.tail--
	}
	return nil
}

// guess does without a checkpoint: the tail begins behind the last segment that has an index.
func (r *recoverer) guess() error {
	l := r.log
	young := len(l.segments) == 0 || len(l.segments) == 1 && l.segments[0].base == 0 && l.segments[0].size == 0
	if young && errors.Is(r.report.Checkpoint, errNoCheckpoint) {
		r.report.Checkpoint = nil // a new log
	}
	r.cp = checkpoint{epochs: []epochStart{{}}}
	if len(l.segments) == 0 {
		return nil
	}
	r.cp.start = l.segments[0].base
	r.cp.epochs[0].start = r.cp.start
	r.tail = len(l.segments) - 1
	for r.tail > 0 && !r.hasIndex(l.segments[r.tail-1]) {
		r.tail--
	}
	r.cp.segment, r.cp.next = l.segments[r.tail].base, l.segments[r.tail].base
	return r.guessEpoch()
}

func (r *recoverer) hasIndex(s *segment) bool {
	_, ok := r.siblings[s.base][indexSuffix]
	return ok
}

// guessEpoch takes the leader epoch of the last segments' first batches; the scan of the tail may find a later one.
func (r *recoverer) guessEpoch() error {
	l := r.log
	buf := l.o.Files.buffer()
	defer l.o.Files.buffers.Put(buf)
	for _, s := range l.segments {
		if s.size == 0 {
			continue
		}
		file, err := l.o.Files.acquire(l.o.FS, s)
		if err != nil {
			return err
		}
		in := inspector{r: file, end: s.size, buf: (*buf)[:0:headerWindow]}
		h, reason, err := in.header(0, s.base)
		if err == nil && reason == "" {
			r.noteEpoch(h)
		}
		l.o.Files.release(file)
		if err != nil {
			return err
		}
	}
	return nil
}

// noteEpoch keeps the list of epochs complete when the checkpoint is older than the batches, or lost.
func (r *recoverer) noteEpoch(h Batch) {
	if last := r.cp.epochs[len(r.cp.epochs)-1]; h.LeaderEpoch() > last.epoch {
		r.cp.epochs = append(r.cp.epochs, epochStart{h.LeaderEpoch(), h.BaseOffset()})
	}
}

// open sets the log's fields from what was found and brings the projection up to date.
func (r *recoverer) open() error {
	l := r.log
	l.mu.Lock()
	l.recovery = r.cp
	l.pending.names = false // settle has synced the directory
	start := max(r.cp.start, l.segments[0].base)
	l.bounds = Bounds{Start: start, Stable: r.next, Durable: r.next, End: r.next}
	if !l.bounds.valid() {
		panic(fmt.Sprintf("log: %s: recovered watermarks %+v", l.o.Dir, l.bounds))
	}
	l.visible = l.endLocked()
	l.chores.start = start
	for i, s := range l.segments {
		r.report.Damaged = append(r.report.Damaged, s.damage...)
		if i < len(l.segments)-1 && !s.finished {
			s.indexer.addTime()
			l.pending.seals = append(l.pending.seals, sealing{segment: s})
		}
		if i > 0 { // a segment was begun when the one before it was sealed
			s.first = l.segments[i-1].last
		}
		if s.finished && !r.plausibleIndex(s) {
			r.report.IndexesRebuilt++
		}
	}
	l.mu.Unlock()
	n, err := l.project()
	r.report.Replayed = n
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending.seals) > 0 { // from here on the committer may change segments
		l.dirtyLocked()
	}
	return nil
}

// loadErased takes over which records were deleted one by one. After a clean stop the file has no unfinished end.
func (r *recoverer) loadErased() error {
	found := &r.erased
	if found.torn > 0 && r.report.Clean {
		found.damage(int(found.size-found.torn), int(found.size), "no entry of such a file")
	} else {
		r.report.CutBytes += found.torn
	}
	r.report.ErasedDamaged = found.bad
	return r.log.loadErased(*found)
}

// plausibleIndex judges by the sizes of the files. When there are no entries, although there are more bytes than go
// without one, it looks at the batches: a few large ones have none.
func (r *recoverer) plausibleIndex(s *segment) bool {
	offsets, ok := r.siblings[s.base][indexSuffix]
	times, okTimes := r.siblings[s.base][timeIndexSuffix]
	if !ok || !okTimes || offsets%offsetEntrySize != 0 || times%timeEntrySize != 0 {
		return false
	}
	if offsets > 0 || s.size <= int64(r.log.config.IndexInterval) {
		return true
	}
	_, err := r.loadIndex(s, s.size)
	return !errors.Is(err, errBadIndex)
}
