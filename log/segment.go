package log

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"brokerd/log/vfs"
)

// Names of the files in a log's directory (FORMAT.md, "Directory").
const (
	segmentSuffix   = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	snapshotSuffix  = ".snapshot"
	tempSuffix      = ".tmp"
	cleanedSuffix   = ".cleaned"
	swapSuffix      = ".swap"
	checkpointName  = "checkpoint"
	compactedName   = "compacted"
	failedName      = "failed"
	erasedName      = "erased"
)

// maxSegment bounds positions and relative offsets in a segment: the index stores both in 32 bits.
const maxSegment = math.MaxInt32

// fileName is Kafka's: the base offset in 20 digits.
func fileName(base int64, suffix string) string { return fmt.Sprintf("%020d%s", base, suffix) }

// maxBase leaves every offset of a segment, and the next one, below 2^63.
const maxBase = math.MaxInt64 - 1<<33

// parseName undoes fileName.
func parseName(name string) (base int64, suffix string, ok bool) {
	i := strings.IndexByte(name, '.')
	if i != 20 {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:i], 10, 64)
	if err != nil || base < 0 || base > maxBase || fileName(base, name[i:]) != name {
		return 0, "", false
	}
	return base, name[i:], true
}

// segmentBase returns the base offset in the name of a segment file.
func segmentBase(name string) (base int64, ok bool) {
	base, suffix, ok := parseName(name)
	return base, ok && suffix == segmentSuffix
}

// segment is one segment file of a log. Its base and path never change; Log.mu guards the rest.
//
// A segment is active (the last one: batches are appended to it), then sealed (a newer one exists), then finished: synced
// and its index written. A sealed segment never changes again.
type segment struct {
	base int64
	path string

	size     int64 // bytes of batches
	records  int64 // in them; uncounted when that is not known
	stuck    int64 // erased offsets that compaction could not take out: damage, and what cannot be unpacked
	finished bool
	first    time.Time // arrival of the first batch
	last     time.Time // arrival of the last batch
	indexer  *indexer  // until the segment is finished; then its index is on the disk (openFile.index)
	pin      *openFile // while it holds writes that no flush has begun to sync

	checked spans          // what may be served
	damage  []CorruptError // what may not, ordered by position
}

// uncounted says that nobody has counted the records of a segment yet.
const uncounted = -1

func newSegment(dir string, base int64) *segment {
	return &segment{base: base, path: path.Join(dir, fileName(base, segmentSuffix)), indexer: newIndexer()}
}

func (s *segment) name() string { return path.Base(s.path) }

// sibling is the path of a file that belongs to the segment.
func (s *segment) sibling(suffix string) string {
	return strings.TrimSuffix(s.path, segmentSuffix) + suffix
}

// appended takes note of a batch written at the end. What this process wrote itself needs no check before it is read.
func (s *segment) appended(b Batch, interval int, now time.Time) {
	if s.size == 0 {
		s.first = now
	}
	s.last = now
	s.indexer.add(b, s.base, s.size, interval)
	s.checked = s.checked.add(span{s.size, s.size + int64(len(b)), b.LastOffset() + 1})
	s.size += int64(len(b))
	if s.records != uncounted {
		s.records += int64(b.Count())
	}
}

// addDamage adds a damaged range; false when it was known.
func (s *segment) addDamage(d CorruptError) bool {
	i, known := slices.BinarySearchFunc(s.damage, d.Position, func(k CorruptError, pos int64) int {
		return cmp.Compare(k.Position, pos)
	})
	if !known {
		s.damage = slices.Insert(s.damage, i, d)
	}
	return !known
}

// damageAt returns the damage that covers the byte at pos.
func (s *segment) damageAt(pos int64) *CorruptError {
	i := sort.Search(len(s.damage), func(i int) bool { return s.damage[i].Position+s.damage[i].Length > pos })
	if i < len(s.damage) && s.damage[i].Position <= pos {
		return &s.damage[i]
	}
	return nil
}

// find returns the place in segments of the one whose offsets include offset: the last with base <= offset, or the
// first one.
func find(segments []*segment, offset int64) int {
	i := sort.Search(len(segments), func(i int) bool { return segments[i].base > offset })
	return max(i-1, 0)
}

// span is a run of batches in a segment: its bytes, and the offset that follows the last batch.
type span struct{ from, to, next int64 }

// spans is a sorted list of runs that neither overlap nor touch.
type spans []span

// add merges one more run into the list.
func (l spans) add(n span) spans {
	if k := len(l); k > 0 && l[k-1].to == n.from { // the common case: the last run grows
		l[k-1].to, l[k-1].next = n.to, n.next
		return l
	}
	i := sort.Search(len(l), func(i int) bool { return l[i].to >= n.from })
	j := i
	for ; j < len(l) && l[j].from <= n.to; j++ {
		n.from = min(n.from, l[j].from)
		if l[j].to > n.to {
			n.to, n.next = l[j].to, l[j].next
		}
	}
	return slices.Replace(l, i, j, n)
}

// at returns the run that covers the byte at pos, or that ends there.
func (l spans) at(pos int64) (span, bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].to >= pos })
	if i < len(l) && l[i].from > pos || i == len(l) {
		return span{}, false
	}
	if l[i].to == pos && i+1 < len(l) && l[i+1].from == pos {
		i++
	}
	return l[i], true
}

// writeAtomic makes a file with these contents, synced, under a name that appears at once; it is durable after SyncDir.
func writeAtomic(fs vfs.FS, name string, contents []byte) error {
	temp := name + tempSuffix
	if err := fs.Remove(temp); err != nil && !isNotExist(err) {
		return fmt.Errorf("remove old temporary file: %w", err)
	}
	file, err := fs.Create(temp)
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	if _, err = file.WriteAt(contents, 0); err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = fs.Rename(temp, name)
	}
	if err != nil {
		_ = fs.Remove(temp) // or the next Open does
		return fmt.Errorf("write %s: %w", path.Base(name), err)
	}
	return nil
}

// errTooLong is returned by readFile.
var errTooLong = errors.New("file is too long")

// readFile reads a whole file that is at most limit bytes.
func readFile(fs vfs.FS, name string, limit int64) ([]byte, error) {
	file, err := fs.OpenRead(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("read %s: %w: %d bytes, at most %d", path.Base(name), errTooLong, size, limit)
	}
	b := make([]byte, size)
	if n, err := file.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read %s: %w", path.Base(name), err)
	}
	return b, nil
}
