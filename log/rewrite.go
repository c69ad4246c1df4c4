package log

import (
	"fmt"
	"slices"
)

// replace writes what is left of the first segments below offset end, as many as fit into one, and puts it in their place.
// It returns how many they were.
func (c *compactor) replace(pieces []piece, end int64) (n int, err error) {
	out := newOutput(c.log.o.FS, pieces[0])
	if err := c.fill(out, pieces, end); err != nil {
		out.discard()
		return 0, err
	}
	if out.file != nil {
		if err := c.log.swap(out); err != nil {
			return 0, err
		}
		c.done.Records += out.removed
		c.done.Bytes += out.reclaimed()
	}
	c.log.dropErased(&out.erased)
	if c.o.Removed != nil && out.gone.count > 0 {
		c.o.Removed(out.gone.all(0, maxBase))
	}
	return len(out.from), nil
}

// fill writes an output and, if it is of any use, puts it on the disk.
func (c *compactor) fill(out *output, pieces []piece, end int64) error {
	for _, p := range pieces {
		if p.base >= end || !c.fits(out, p) {
			break
		}
		if err := c.merge(out); err != nil {
			return err
		}
		out.begin(p)
		if err := c.rewrite(out, p); err != nil {
			return err
		}
	}
	if out.file == nil {
		return nil
	}
	if err := out.finish(); err != nil {
		return err
	}
	if err := c.log.syncNames(out.file); err != nil {
		return c.log.fail(fmt.Errorf("sync directory: %w", err))
	}
	return nil
}

// merge gets an output ready for a further segment.
func (c *compactor) merge(out *output) error {
	if len(out.from) == 0 || out.file != nil {
		return nil
	}
	first, err := c.open(out.from[0])
	if err != nil {
		return err
	}
	defer c.log.o.Files.release(first)
	return out.differ(first)
}

// fits says that a segment may go into the output. One with damage stays on its own, so that what a reader makes of the
// damage does not change.
func (c *compactor) fits(out *output, p piece) bool {
	if len(out.from) == 0 {
		return true
	}
	l := c.log
	l.mu.Lock()
	defer l.mu.Unlock()
	damaged := len(out.segment.damage) > 0 || len(p.damage) > 0
	return !damaged && p.end-out.segment.base <= maxSegment &&
		(out.segment.size == 0 || out.segment.size+p.size <= c.segmentBytes)
}

// rewrite writes what is left of a segment. The neighbours of damage, and the last batch of the range, do not go
// altogether.
func (c *compactor) rewrite(out *output, p piece) error {
	behindDamage := false
	c.filter.erased = c.log.erasedIn(p.base, p.end)
	all := c.filter.erased.count
	err := c.walk(p, func(file *openFile, st stretch, next *stretch) error {
		if st.damage != nil {
			behindDamage = true
			return c.keepDamage(out, p, file, *st.damage)
		}
		beforeDamage := next != nil && next.damage != nil
		must := behindDamage || beforeDamage || next == nil && p.end == c.end
		behindDamage = false
		return c.emit(out, p, file, st, must)
	})
	if err != nil {
		return err
	}
	c.keepMissing(out, p)
	out.erased.merge(c.filter.erased)
	c.stay(out, p, all-c.filter.erased.count)
	return nil
}

// stay takes note that n erased offsets of a segment could not be taken out.
func (c *compactor) stay(out *output, p piece, n int64) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	p.stuck = n
	out.segment.stuck += n
}

// keepDamage copies damage. When nobody knew of it, the segment may have to be written again, on its own.
func (c *compactor) keepDamage(out *output, p piece, file *openFile, d CorruptError) error {
	d.Segment = p.name()
	c.filter.erased.remove(d.First, d.Last+1)
	c.log.noteDamage(p.segment, d)
	if len(out.from) > 1 {
		return errChanged
	}
	return out.addDamage(d, file)
}

// emit writes what is left of a batch; with must set that is its header at least.
func (c *compactor) emit(out *output, p piece, file *openFile, st stretch, must bool) error {
	b, err := c.load(file, st)
	if err != nil {
		return err
	}
	room := maxSegment - out.segment.size - (p.size - st.end)
	left, removed, err := c.filter.apply(b, room, func(b Batch) bool { return must || c.keep[b.BaseOffset()] })
	if err != nil {
		return err
	}
	out.removed += removed
	if c.filter.intact {
		c.filter.erased.remove(b.BaseOffset(), b.LastOffset()+1)
	} else {
		for _, offset := range c.filter.gone {
			out.gone.add(offset)
		}
	}
	if len(left) != len(b) || !slices.Equal(left[:HeaderSize], b[:HeaderSize]) {
		if err := out.differ(file); err != nil {
			return err
		}
	}
	if left == nil {
		return nil
	}
	return out.add(left, c.interval)
}

// keepMissing carries over that the end of a segment was lost.
func (c *compactor) keepMissing(out *output, p piece) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if n := len(p.damage); n > 0 && p.damage[n-1].Length == 0 {
		d := p.damage[n-1]
		d.Position = out.segment.size
		out.segment.damage = append(out.segment.damage, d)
	}
}

// noteDamage adds a damaged range that nobody had met, and reports it.
func (l *Log) noteDamage(s *segment, d CorruptError) {
	l.mu.Lock()
	fresh := s.addDamage(d)
	if fresh {
		s.checked = nil // it may have been good when this process wrote it
	}
	l.mu.Unlock()
	if fresh && l.o.OnDamage != nil {
		l.o.OnDamage(d)
	}
}
