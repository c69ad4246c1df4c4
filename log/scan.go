package log

import (
	"errors"
	"fmt"
	"path"
	"syscall"

	"brokerd/log/vfs"
)

// Found is one thing a Scan meets: a good batch (Damage nil) or a damaged range.
type Found struct {
	Segment  string
	Position int64
	Batch    Batch // valid during the call only
	Damage   *CorruptError
}

// Scan reads a log's directory, or one segment file in it, without changing anything and without its index: every batch
// in order, its CRC checked, and every damaged range. It is what `brokerd log dump` and `log verify` use.
//
// A damaged end of the last segment has a Reason that starts with "torn tail": a crash leaves one, and recovery would
// cut it off. Damage that no offset is missing for has Last = First - 1. Errors: f's, and the file system's.
func Scan(fs vfs.FS, name string, f func(Found) error) error {
	dir, segments, err := listSegments(fs, name)
	if err != nil {
		return err
	}
	s := scanner{fs: fs, dir: dir, f: f}
	for n, base := range segments {
		end := int64(-1)
		if n+1 < len(segments) {
			end = segments[n+1]
		}
		if err := s.segment(base, end); err != nil {
			return fmt.Errorf("scan %s: %w", path.Join(dir, fileName(base, segmentSuffix)), err)
		}
	}
	return nil
}

// listSegments returns the base offsets of the segments that name stands for, in order, and their directory.
func listSegments(fs vfs.FS, name string) (dir string, bases []int64, err error) {
	entries, err := fs.List(name)
	if errors.Is(err, syscall.ENOTDIR) {
		base, ok := segmentBase(path.Base(name))
		if !ok {
			return "", nil, fmt.Errorf("scan %s: the name of a segment is 20 digits and %s", name, segmentSuffix)
		}
		return path.Dir(name), []int64{base}, nil
	}
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if base, ok := segmentBase(e.Name); ok && !e.Dir {
			bases = append(bases, base)
		}
	}
	return name, bases, nil
}

type scanner struct {
	fs   vfs.FS
	dir  string
	f    func(Found) error
	next int64 // the lowest offset that may come
	buf  []byte
}

// segment scans one segment; end is the base of the following one, or -1.
func (s *scanner) segment(base, end int64) (err error) {
	name := fileName(base, segmentSuffix)
	file, err := s.fs.OpenRead(path.Join(s.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return err
	}
	s.next = max(s.next, base)
	return newInspector(file, size).walk(0, s.next, func(st stretch) error {
		s.next = st.next
		found := Found{Segment: name, Position: st.pos, Damage: st.damage}
		if st.damage == nil {
			found.Batch, err = s.read(file, st)
			if err != nil {
				return err
			}
			return s.f(found)
		}
		found.Damage.Segment = name
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
