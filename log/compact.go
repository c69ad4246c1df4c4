package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"
)

// Compaction says how Compact goes about it.
type Compaction struct {
	MinLag       time.Duration // leave segments alone that got a batch less than this long ago
	TombstoneAge time.Duration // keep a record without a value for this long after everything older is gone; < 0 = for ever
	KeyMemory    int64         // bytes for the keys of one pass; a log with more keys takes more passes
	UnpackLimit  int           // bytes of a batch's unpacked records; larger batches stay as they are; 0 takes 64 MiB
	// Keep, if set, returns the base offsets of batches whose headers must stay, even without a record, because the
	// Projection needs them. It is asked when it is decided which batches Compact will look at.
	Keep func() map[int64]bool

	// ErasedOnly leaves alone what newer records of the same key replace: keys do not matter.
	ErasedOnly bool
	// ErasedShare is the part of a segment's records above which it is written anew for the sake of erased ones alone.
	ErasedShare float64
	// Removed, if set, is told which records were removed that had not been erased; once no reader can come by them any more.
	Removed func(offsets iter.Seq[int64])
}

// Compacted says what Compact did.
type Compacted struct {
	Passes  int
	Records int64 // removed
	Bytes   int64 // reclaimed; negative when tombstones were dated and nothing was removed
}

var (
	// errChanged says that retention deleted a segment, or damage was found: what was planned is void.
	errChanged = errors.New("segments changed")
	// errFull says that the memory for keys is used up.
	errFull = errors.New("key map is full")
)

// Compact keeps the newest record of each key (FORMAT.md, "Compaction") in the segments that Dirt counts, takes erased
// records off the disk, and returns when it is through, or with ctx's error at the next batch. Reads, appends and retention go on meanwhile. It does not
// run twice at the same time; Close and Remove end it and wait for that.
//
// Errors: ErrNoSpace, ErrTooManyFiles, ErrFailed, ErrClosed, ctx's, and those of the file system. What was done before is
// kept, and the rest may be tried again.
func (l *Log) Compact(ctx context.Context, now time.Time, o Compaction) (done Compacted, err error) {
	select {
	case l.compacting <- struct{}{}:
		defer func() { <-l.compacting }()
	case <-ctx.Done():
		return done, ctx.Err()
	}
	c, err := newCompactor(ctx, l, now, o)
	if err != nil {
		return done, spaceError(fmt.Errorf("compact: %w", err))
	}
	defer c.close()
	for more := !o.ErasedOnly; more && err == nil; {
		if more, err = c.pass(); errors.Is(err, errChanged) {
			err = nil
		}
	}
	if err == nil {
		err = c.sweep()
	}
	if err != nil {
		err = spaceError(fmt.Errorf("compact: %w", err))
	}
	return c.done, err
}

// compactor is one run of Compact.
type compactor struct {
	ctx    context.Context
	log    *Log
	now    time.Time
	o      Compaction
	end    int64 // it goes up to here, however far the log grows meanwhile
	filter filter
	keep   map[int64]bool // base offsets of batches whose headers stay

	segmentBytes int64 // of new segments
	interval     int   // of their indexes

	buf   *[]byte // borrowed, for walking
	batch []byte  // the batch that is looked at
	done  Compacted
}

func newCompactor(ctx context.Context, l *Log, now time.Time, o Compaction) (*compactor, error) {
	if o.UnpackLimit <= 0 {
		o.UnpackLimit = unpackLimit
	}
	c := &compactor{
		ctx: ctx, log: l, now: now, o: o,
		filter: filter{now: now, tombstoneAge: o.TombstoneAge, unpackLimit: o.UnpackLimit},
	}
	var err error
	if c.end, err = l.freeze(now, o); err != nil {
		return nil, err
	}
	if o.Keep != nil {
		c.keep = o.Keep()
	}
	c.segmentBytes, c.interval = l.sizes()
	c.buf = l.o.Files.buffer()
	return c, nil
}

// sizes are the settings that new segments are made by.
func (l *Log) sizes() (segmentBytes int64, interval int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.config.SegmentBytes, l.config.IndexInterval
}

func (c *compactor) close() { c.log.o.Files.buffers.Put(c.buf) }

// freeze makes sure, durably, that recovery never scans the segments that Compact may change, and returns the offset at
// which they end.
func (l *Log) freeze(now time.Time, o Compaction) (end int64, err error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	err = l.usableLocked()
	if pieces := l.piecesLocked(now, o.MinLag); len(pieces) > 0 {
		end = pieces[len(pieces)-1].end
	}
	if err == nil {
		err = l.rollErasedLocked(o.ErasedShare)
	}
	idle := end <= l.dirtyFromLocked()
	l.mu.Unlock()
	if err != nil || idle {
		return end, err
	}
	return end, l.writeCheckpoint(l.advanceRecoveryLocked)
}

// pass compacts the log for as many keys as fit into memory. It is false when there is nothing left to do.
func (c *compactor) pass() (bool, error) {
	pieces, from := c.plan()
	if len(pieces) == 0 || from >= c.end {
		return false, nil
	}
	keys := newKeyMap(c.o.KeyMemory)
	c.filter.keys = keys // lets go of the keys of the pass before
	if err := c.collect(keys, pieces, from); err != nil {
		return true, err
	}
	c.done.Passes++
	for len(pieces) > 0 && pieces[0].base < keys.end {
		n, err := c.replace(pieces, keys.end)
		if err != nil {
			return true, err
		}
		pieces = pieces[n:]
	}
	return true, c.log.setDirtyFrom(keys.end)
}

// plan returns the segments below c.end, and the first offset that is not compacted.
func (c *compactor) plan() (pieces []piece, from int64) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	pieces = l.piecesLocked(c.now, 0)
	past := slices.IndexFunc(pieces, func(p piece) bool { return p.end > c.end })
	if past >= 0 {
		pieces = pieces[:past]
	}
	return pieces, l.dirtyFromLocked()
}

// collect puts the keys from offset from on into the map, until the segments end or it is full.
func (c *compactor) collect(keys *keyMap, pieces []piece, from int64) error {
	for _, p := range pieces {
		keys.end = p.end
		if p.end <= from {
			continue
		}
		erased := c.log.erasedIn(p.base, p.end)
		err := c.walk(p, func(file *openFile, st stretch, _ *stretch) error {
			if st.header == nil || st.next <= from || st.header.Control() {
				return nil
			}
			b, err := c.load(file, st)
			if err != nil {
				return err
			}
			return c.collectBatch(keys, b, from, erased)
		})
		if errors.Is(err, errFull) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collectBatch puts the keys of one batch into the map: errFull when they do not all fit. A batch that no reader can
// unpack or parse to its end replaces nothing, and neither does an erased record.
func (c *compactor) collectBatch(keys *keyMap, b Batch, from int64, erased *offsetSet) error {
	records, err := c.filter.unpack(b)
	if err == nil {
		err = b.parse(records, func(Record, []byte) bool { return true })
	}
	if err != nil {
		return unreadable(err)
	}
	full := false
	err = b.parse(records, func(r Record, _ []byte) bool {
		if r.Key == nil || r.Offset < from || erased.has(r.Offset) {
			return true
		}
		if full = !keys.put(hashKey(r.Key), r.Offset); full {
			keys.end = r.Offset
		}
		return !full
	})
	if full {
		return errFull
	}
	return err
}

// walk calls f for every stretch of a segment, with the one that follows it (nil at the end), as long as the segment is
// there and Compact is to go on.
func (c *compactor) walk(p piece, f func(file *openFile, st stretch, next *stretch) error) error {
	file, err := c.open(p)
	if err != nil {
		return err
	}
	defer c.log.o.Files.release(file)
	w := walkFile(file, *c.buf, p.size, p.base, p.end)
	st, err := w.step()
	for err == nil {
		var next *stretch
		following, followingErr := w.step()
		if followingErr == nil {
			next = &following
		}
		if err := c.interrupted(); err != nil {
			return err
		}
		if err := f(file, st, next); err != nil {
			return err
		}
		st, err = following, followingErr
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// open returns the file of a segment: errChanged when retention has deleted it.
func (c *compactor) open(p piece) (*openFile, error) {
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.segments, p.segment) {
		return nil, errChanged
	}
	return l.o.Files.acquire(l.o.FS, p.segment)
}

// interrupted says why Compact must end.
func (c *compactor) interrupted() error {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if err := c.log.usableLocked(); err != nil {
		return err
	}
	return c.ctx.Err()
}

// load reads a whole batch. What is made of it gets a checksum of its own, so its bytes are checked again here.
func (c *compactor) load(file *openFile, st stretch) (Batch, error) {
	size := int(st.end - st.pos)
	c.batch = slices.Grow(c.batch[:0], size)[:size]
	if n, err := file.ReadAt(c.batch, st.pos); n < size {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	b := Batch(c.batch)
	if err := b.CheckCRC(); err != nil {
		return nil, fmt.Errorf("read batch at %d of %s twice: %w", st.pos, file.segment.name(), err)
	}
	return b, nil
}
