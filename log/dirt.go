package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"time"

	"brokerd/log/vfs"
)

// The file that says how far compaction is (FORMAT.md, "Compaction").
const (
	compactedMagic   = 0x62726b44 // "brkD"
	compactedVersion = 1
	compactedSize    = 4 + 2 + 2 + 8 + 4
)

// Dirt says how much of a log Compact would look at for the first time.
type Dirt struct {
	Clean int64     // bytes of segments before it, which it reads again
	Dirty int64     // bytes of segments that are new to it
	Since time.Time // arrival of the oldest batch in those; zero when there are none
}

// Ratio is the new part of the whole, from 0 to 1.
func (d Dirt) Ratio() float64 {
	if d.Dirty == 0 {
		return 0
	}
	return float64(d.Dirty) / float64(d.Clean+d.Dirty)
}

// Dirt measures what Compact would do now with this MinLag. The active segment is never part of it.
func (l *Log) Dirt(now time.Time, minLag time.Duration) Dirt {
	l.mu.Lock()
	defer l.mu.Unlock()
	var d Dirt
	from := l.dirtyFromLocked()
	for _, p := range l.piecesLocked(now, minLag) {
		if p.end <= from {
			d.Clean += p.size
			continue
		}
		if d.Dirty == 0 {
			d.Since = p.first
		}
		d.Dirty += p.size
	}
	return d
}

// piecesLocked returns the segments that may be compacted: finished, decided, and old enough unless they were compacted
// before.
func (l *Log) piecesLocked(now time.Time, minLag time.Duration) (pieces []piece) {
	from := l.dirtyFromLocked()
	for i, s := range l.segments[:len(l.segments)-1] {
		p := piece{s, l.segments[i+1].base}
		young := minLag > 0 && p.end > from && now.Sub(s.last) < minLag
		if young || !s.finished || p.end > l.bounds.Stable {
			break
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// dirtyFromLocked is the first offset that is not compacted. A file of another log, or of another time, is not believed.
func (l *Log) dirtyFromLocked() int64 {
	if l.dirtyFrom < l.bounds.Start || l.dirtyFrom > l.bounds.End {
		return l.bounds.Start
	}
	return l.dirtyFrom
}

// setDirtyFrom notes, durably, how far compaction is.
func (l *Log) setDirtyFrom(offset int64) error {
	l.mu.Lock()
	l.dirtyFrom = offset
	l.mu.Unlock()
	if err := writeAtomic(l.o.FS, path.Join(l.o.Dir, compactedName), encodeCompacted(offset)); err != nil {
		return err
	}
	err := l.o.FS.SyncDir(l.o.Dir)
	switch {
	case outOfFiles(err):
		return err
	case err != nil:
		return l.fail(fmt.Errorf("sync directory: %w", err))
	}
	return nil
}

func encodeCompacted(offset int64) []byte {
	b := binary.BigEndian.AppendUint32(nil, compactedMagic)
	b = binary.BigEndian.AppendUint16(b, compactedVersion)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeCompacted undoes encodeCompacted.
func decodeCompacted(b []byte) (int64, error) {
	if len(b) != compactedSize || binary.BigEndian.Uint32(b) != compactedMagic {
		return 0, errors.New("log: compacted: not such a file")
	}
	if v := binary.BigEndian.Uint16(b[4:]); v != compactedVersion {
		return 0, fmt.Errorf("log: compacted: version %d, want %d", v, compactedVersion)
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return 0, fmt.Errorf("log: compacted: %w", ErrBadCRC)
	}
	return int64(binary.BigEndian.Uint64(b[8:])), nil
}

// readCompacted returns what setDirtyFrom wrote; 0, so that everything is compacted again, when that cannot be read.
func readCompacted(fs vfs.FS, dir string) int64 {
	b, err := readFile(fs, path.Join(dir, compactedName), compactedSize)
	if err != nil {
		return 0
	}
	offset, err := decodeCompacted(b)
	if err != nil {
		return 0
	}
	return offset
}
