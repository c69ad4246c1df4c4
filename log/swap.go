package log

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"brokerd/log/vfs"
)

// swapName is the name of a complete new segment for the offsets from base to before end.
func swapName(base, end int64) string { return fmt.Sprintf("%020d-%020d%s", base, end, swapSuffix) }

// parseSwapName undoes swapName.
func parseSwapName(name string) (base, end int64, ok bool) {
	first, rest, _ := strings.Cut(name, "-")
	last, _ := strings.CutSuffix(rest, swapSuffix)
	base, _, ok = parseName(first + segmentSuffix)
	end, _, okEnd := parseName(last + segmentSuffix)
	return base, end, ok && okEnd && base < end && swapName(base, end) == name
}

// swap puts a finished output in the place of the segments that it was made from (FORMAT.md, "Compaction", has the
// steps from the second on). errChanged says that they are not all there any more; nothing was done then. What fails
// after the first rename is final, and the next Open ends it.
//
// From that rename on the log reads the new segment through the file that is open here, whatever its name is, so
// that no reader comes between the steps.
func (l *Log) swap(out *output) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	err := l.mayReplace(out.from)
	if err == nil {
		err = l.o.FS.Rename(out.segment.path+cleanedSuffix, path.Join(l.o.Dir, swapName(out.segment.base, out.end())))
	}
	if err != nil {
		out.discard()
		return err
	}
	if err := l.syncNames(out.file); err != nil {
		return errors.Join(l.fail(fmt.Errorf("swap segments: %w", err)), out.file.Close())
	}
	file := l.o.Files.take(out.segment, out.file)
	l.install(out, file)
	var old []int64
	for _, p := range out.from {
		l.o.Files.forget(p.segment)
		old = append(old, p.base)
	}
	sync := func() error { return l.syncNames(file) }
	if err := finishSwap(l.o.FS, l.o.Dir, out.end(), old, sync); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		out.segment.pin = file // another file may have its name
		return l.failLocked(fmt.Errorf("swap segments: %w", err))
	}
	l.o.Files.release(file)
	return nil
}

// install makes the new segment part of the log.
func (l *Log) install(out *output, file *openFile) {
	s := out.segment
	file.setIndex(s.indexer.index)
	s.finished, s.indexer = true, nil
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.segments, out.from[0].segment)
	l.segments = slices.Concat(l.segments[:i], []*segment{s}, l.segments[i+len(out.from):])
}

// mayReplace says that the log is well and has all these segments.
func (l *Log) mayReplace(old []piece) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	for _, p := range old {
		if !slices.Contains(l.segments, p.segment) {
			return errChanged
		}
	}
	return nil
}

// finishSwap does the steps that follow the first rename; doing them again changes nothing. The segments that are replaced
// begin with the offsets old, of which the first is the new one's as well.
func finishSwap(fs vfs.FS, dir string, end int64, old []int64, sync func() error) error {
	file := func(base int64, suffix string) string { return path.Join(dir, fileName(base, suffix)) }
	for _, base := range old[1:] {
		for _, suffix := range []string{indexSuffix, timeIndexSuffix, segmentSuffix} {
			if err := fs.Remove(file(base, suffix)); err != nil && !isNotExist(err) {
				return err
			}
		}
	}
	base := old[0]
	for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
		if err := fs.Rename(file(base, suffix)+cleanedSuffix, file(base, suffix)); err != nil && !isNotExist(err) {
			return err
		}
	}
	if err := sync(); err != nil {
		return err
	}
	if err := fs.Rename(path.Join(dir, swapName(base, end)), file(base, segmentSuffix)); err != nil {
		return err
	}
	return sync()
}

// finishSwaps ends what a crash has interrupted.
func (r *recoverer) finishSwaps() error {
	l := r.log
	entries, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	for _, e := range entries {
		base, end, ok := parseSwapName(e.Name)
		if !ok {
			continue
		}
		old := []int64{base}
		for _, e := range entries {
			if b, suffix, ok := parseName(e.Name); ok && suffix != snapshotSuffix && base < b && b < end {
				old = append(old, b)
			}
		}
		sync := func() error { return l.o.FS.SyncDir(l.o.Dir) }
		if err := finishSwap(l.o.FS, l.o.Dir, end, old, sync); err != nil {
			return fmt.Errorf("swap segments: %w", err)
		}
		r.report.Swaps++
	}
	return nil
}
