package log

import (
	"fmt"
	"path"

	"brokerd/log/vfs"
)

// outputBuffer is how much is written at once to a new segment.
const outputBuffer = 1 << 20

// output is a new segment that compaction writes beside the ones it is to replace. As long as it is the same as the first
// of those, nothing is written.
type output struct {
	fs      vfs.FS
	segment *segment  // as it will be when it is swapped in
	from    []piece   // the segments that are in it
	removed int64     // records that are not in it any more
	gone    offsetSet // of them, those that had not been erased
	erased  offsetSet // nothing is left of these offsets
	file    vfs.File  // nil until it differs
	buf     []byte    // not written to it yet
}

// piece is a finished segment and the offset that its successor begins with.
type piece struct {
	*segment
	end int64
}

func newOutput(fs vfs.FS, first piece) *output {
	return &output{fs: fs, segment: newSegment(path.Dir(first.path), first.base)}
}

// begin takes note of the next segment that is written into it.
func (o *output) begin(p piece) {
	if len(o.from) == 0 {
		o.segment.first = p.first
	}
	o.segment.last = p.last
	o.from = append(o.from, p)
}

// differ makes the file, over what an earlier attempt may have left. Up to here it is the same as the first old segment.
func (o *output) differ(old vfs.File) error {
	if o.file != nil {
		return nil
	}
	if err := o.removeFiles(); err != nil {
		return err
	}
	var err error
	if o.file, err = o.fs.Create(o.segment.path + cleanedSuffix); err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	same := o.segment.size
	o.segment.size, o.buf = 0, make([]byte, 0, outputBuffer)
	return o.copy(old, 0, same)
}

// end is the offset that follows the segments in it.
func (o *output) end() int64 { return o.from[len(o.from)-1].end }

// add writes a batch.
func (o *output) add(b Batch, interval int) error {
	s := o.segment
	s.indexer.add(b, s.base, s.size, interval)
	s.records += int64(b.Count())
	s.checked = s.checked.add(span{s.size, s.size + int64(len(b)), b.LastOffset() + 1})
	return o.write(b)
}

// addDamage writes a damaged range as it is.
func (o *output) addDamage(d CorruptError, raw vfs.File) error {
	d.Segment = o.segment.name()
	from := d.Position
	d.Position = o.segment.size
	o.segment.damage = append(o.segment.damage, d)
	if o.file == nil {
		o.segment.size += d.Length
		return nil
	}
	return o.copy(raw, from, d.Length)
}

// copy writes n bytes of an old segment as they are.
func (o *output) copy(old vfs.File, from, n int64) error {
	b := make([]byte, min(n, outputBuffer))
	for ; n > 0; n -= int64(len(b)) {
		b = b[:min(n, outputBuffer)]
		if got, err := old.ReadAt(b, from); got < len(b) {
			return fmt.Errorf("read segment: %w", err)
		}
		if err := o.write(b); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return nil
}

func (o *output) write(b []byte) error {
	if o.file == nil {
		o.segment.size += int64(len(b))
		return nil
	}
	if len(o.buf)+len(b) > outputBuffer {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.segment.size += int64(len(b))
	o.buf = append(o.buf, b...)
	return nil
}

func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	written := o.segment.size - int64(len(o.buf))
	if _, err := o.file.WriteAt(o.buf, written); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	o.buf = o.buf[:0]
	return nil
}

// finish puts the segment and its index on the disk, under names that mean nothing yet.
func (o *output) finish() error {
	if err := o.flush(); err != nil {
		return err
	}
	s := o.segment
	s.indexer.addTime()
	// Retention counts from the arrival of the records, which a start takes from the time of the file.
	if err := o.fs.SetModTime(s.path+cleanedSuffix, s.last); err != nil {
		return fmt.Errorf("date segment: %w", err)
	}
	if err := o.file.Sync(); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	if err := writeAtomic(o.fs, s.sibling(indexSuffix)+cleanedSuffix, s.indexer.encodeOffsets()); err != nil {
		return err
	}
	return writeAtomic(o.fs, s.sibling(timeIndexSuffix)+cleanedSuffix, s.indexer.encodeTimes())
}

// discard gives it up.
func (o *output) discard() {
	if o.file == nil {
		return
	}
	_ = o.file.Close()
	_ = o.removeFiles() // or the next attempt does, or the next Open
}

func (o *output) removeFiles() error {
	s := o.segment
	for _, name := range []string{s.path, s.sibling(indexSuffix), s.sibling(timeIndexSuffix)} {
		if err := o.fs.Remove(name + cleanedSuffix); err != nil && !isNotExist(err) {
			return fmt.Errorf("remove new segment: %w", err)
		}
	}
	return nil
}

// reclaimed is the number of bytes by which it is smaller than what it replaces.
func (o *output) reclaimed() int64 {
	n := -o.segment.size
	for _, p := range o.from {
		n += p.size
	}
	return n
}
