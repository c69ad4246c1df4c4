package log

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	"brokerd/log/vfs"
)

// Found is one thing a Scan meets: a good batch (Damage nil) or a damaged range.
type Found struct {
	Segment  string
	Position int64
	Batch    Batch   // valid during the call only
	Erased   []int64 // of its offsets, those that are erased: readers do not get them
	Damage   *CorruptError
}

// Scan reads a log's directory, or one segment file in it, without changing anything and without its index: every batch
// in order, its CRC checked, and every damaged range, first those in the list of erased records. It is what `brokerd log dump` and `log verify` use.
//
// A damaged end of the last segment has a Reason that starts with "torn tail": a crash leaves one, and recovery would
// cut it off. Damage that no offset is missing for has Last = First - 1. Errors: f's, and the file system's.
func Scan(fs vfs.FS, name string, f func(Found) error) error {
	dir, segments, err := listSegments(fs, name)
	if err != nil {
		return err
	}
	s := scanner{fs: fs, dir: dir, f: f}
	if err := s.readErased(); err != nil {
		return fmt.Errorf("scan %s: %w", path.Join(dir, erasedName), err)
	}
	for n, seg := range segments {
		end := int64(-1)
		if n+1 < len(segments) {
			end = segments[n+1].base
		}
		if err := s.segment(seg, end); err != nil {
			return fmt.Errorf("scan %s: %w", path.Join(dir, seg.name), err)
		}
	}
	return nil
}

// scannedFile is a file with the batches from offset base on.
type scannedFile struct {
	base int64
	name string
}

// listSegments returns the segments that name stands for, in order, and their directory. A compacted segment whose swap
// was interrupted stands in the place of those that it replaces, as it will when the log is opened.
func listSegments(fs vfs.FS, name string) (dir string, segments []scannedFile, err error) {
	entries, err := fs.List(name)
	if errors.Is(err, syscall.ENOTDIR) {
		base, ok := segmentBase(path.Base(name))
		if !ok {
			return "", nil, fmt.Errorf("scan %s: the name of a segment is 20 digits and %s", name, segmentSuffix)
		}
		return path.Dir(name), []scannedFile{{base, path.Base(name)}}, nil
	}
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if base, ok := segmentBase(e.Name); ok && !e.Dir {
			segments = append(segments, scannedFile{base, e.Name})
		}
	}
	for _, e := range entries {
		base, end, ok := parseSwapName(e.Name)
		if !ok {
			continue
		}
		segments = slices.DeleteFunc(segments, func(s scannedFile) bool { return base <= s.base && s.base < end })
		segments = append(segments, scannedFile{base, e.Name})
	}
	slices.SortFunc(segments, func(a, b scannedFile) int { return cmp.Compare(a.base, b.base) })
	return name, segments, nil
}

type scanner struct {
	fs   vfs.FS
	dir  string
	f    func(Found) error
	next int64 // the lowest offset that may come
	buf  []byte

	erased offsetSet
}

// readErased learns which records are erased, and tells of what is wrong with the list.
func (s *scanner) readErased() error {
	found, err := readErased(s.fs, s.dir)
	if err != nil {
		return err
	}
	s.erased = found.set
	if found.torn > 0 {
		found.damage(int(found.size-found.torn), int(found.size), "torn tail: no entry of such a file")
	}
	for _, d := range found.bad {
		if err := s.f(Found{Segment: d.Segment, Position: d.Position, Damage: &d}); err != nil {
			return err
		}
	}
	return nil
}

// segment scans one segment; end is the base of the following one, or -1.
func (s *scanner) segment(seg scannedFile, end int64) (err error) {
	file, err := s.fs.OpenRead(path.Join(s.dir, seg.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return err
	}
	s.next = max(s.next, seg.base)
	return newInspector(file, size).walk(0, s.next, func(st stretch) error {
		s.next = st.next
		found := Found{Segment: seg.name, Position: st.pos, Damage: st.damage}
		if st.damage == nil {
			found.Batch, err = s.read(file, st)
			if err != nil {
				return err
			}
			found.Erased = slices.Collect(s.erased.all(found.Batch.BaseOffset(), found.Batch.LastOffset()+1))
			return s.f(found)
		}
		found.Damage.Segment = seg.name
		switch {
		case !st.tail:
		case end < 0:
			found.Damage.Reason = "torn tail: " + found.Damage.Reason
		default:
			s.next = max(end, found.Damage.First)
			found.Damage.Last = s.next - 1
		}
		return s.f(found)
	})
}

// read returns a whole batch, whose checksum has confirmed its length.
func (s *scanner) read(file vfs.File, st stretch) (Batch, error) {
	if size := int(st.end - st.pos); size > cap(s.buf) {
		s.buf = make([]byte, size)
	}
	b := s.buf[:st.end-st.pos]
	if n, err := file.ReadAt(b, st.pos); n < len(b) {
		return nil, fmt.Errorf("read at %d: %w", st.pos, err)
	}
	batch, _, err := ParseBatch(b)
	return batch, err
}
