package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"

	"brokerd/log/vfs"
)

// The snapshot file (FORMAT.md, "Snapshot").
const (
	snapshotMagic   = 0x62726b53 // "brkS"
	snapshotVersion = 1
	snapshotHeader  = 4 + 2 + 2 + 4 + 8
	snapshotLimit   = 1 << 30

	maxControl = 1 << 20 // no transaction marker is larger

	snapshotsKept = 2 // an older one is used when the newest cannot be read
)

// snapshotFile is the projection's state after every batch below offset.
type snapshotFile struct {
	offset int64
	state  []byte
}

func (s snapshotFile) encode() []byte {
	b := make([]byte, 0, snapshotHeader+len(s.state))
	b = binary.BigEndian.AppendUint32(b, snapshotMagic)
	b = binary.BigEndian.AppendUint16(b, snapshotVersion)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, 0) // the CRC goes here
	b = binary.BigEndian.AppendUint64(b, uint64(s.offset))
	b = append(b, s.state...)
	binary.BigEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
	return b
}

// decodeSnapshot undoes encode.
func decodeSnapshot(b []byte) (snapshotFile, error) {
	if len(b) < snapshotHeader || binary.BigEndian.Uint32(b) != snapshotMagic {
		return snapshotFile{}, errors.New("log: snapshot: not a snapshot file")
	}
	if v := binary.BigEndian.Uint16(b[4:]); v != snapshotVersion {
		return snapshotFile{}, fmt.Errorf("log: snapshot: version %d, want %d", v, snapshotVersion)
	}
	if crc32.Checksum(b[12:], castagnoli) != binary.BigEndian.Uint32(b[8:]) {
		return snapshotFile{}, fmt.Errorf("log: snapshot: %w", ErrBadCRC)
	}
	return snapshotFile{offset: int64(binary.BigEndian.Uint64(b[12:])), state: b[snapshotHeader:]}, nil
}

// write stores the snapshot; it is durable after SyncDir.
func (s snapshotFile) write(fs vfs.FS, dir string) error {
	return writeAtomic(fs, path.Join(dir, fileName(s.offset, snapshotSuffix)), s.encode())
}

// snapshotOffsets lists the snapshots in the log's directory, newest first.
func (l *Log) snapshotOffsets() ([]int64, error) {
	entries, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		return nil, err
	}
	var offsets []int64
	for _, e := range entries {
		if offset, suffix, ok := parseName(e.Name); ok && suffix == snapshotSuffix {
			offsets = append(offsets, offset)
		}
	}
	slices.Reverse(offsets)
	return offsets, nil
}

// pruneSnapshots removes all but the newest snapshots.
func (l *Log) pruneSnapshots() error {
	offsets, err := l.snapshotOffsets()
	if err != nil || len(offsets) <= snapshotsKept {
		return err
	}
	return l.removeSnapshots(offsets[snapshotsKept:])
}

func (l *Log) removeSnapshots(offsets []int64) error {
	for _, offset := range offsets {
		if err := l.o.FS.Remove(path.Join(l.o.Dir, fileName(offset, snapshotSuffix))); err != nil {
			return fmt.Errorf("remove snapshot: %w", err)
		}
	}
	return nil
}

// project brings the projection up to End: the newest snapshot that can be used, then every batch after it. It returns
// how many batches that were.
func (l *Log) project() (replayed int, err error) {
	if l.o.Projection == nil {
		return 0, nil
	}
	from, err := l.restore()
	if err != nil {
		return 0, err
	}
	buf := l.o.Files.buffer()
	defer l.o.Files.buffers.Put(buf)
	for _, s := range l.segments[find(l.segments, from):] {
		n, err := l.replay(s, from, *buf)
		if err != nil {
			return replayed, err
		}
		replayed += n
	}
	return replayed, nil
}

// restore gives the projection its newest usable snapshot and returns the offset from which on it must replay.
func (l *Log) restore() (from int64, err error) {
	offsets, err := l.snapshotOffsets()
	if err != nil {
		return 0, err
	}
	known := slices.IndexFunc(offsets, func(offset int64) bool { return offset <= l.bounds.End })
	if known < 0 {
		known = len(offsets)
	}
	if err := l.removeSnapshots(offsets[:known]); err != nil { // of batches that are gone
		return 0, err
	}
	for _, offset := range offsets[known:] {
		b, err := readFile(l.o.FS, path.Join(l.o.Dir, fileName(offset, snapshotSuffix)), snapshotLimit)
		if err != nil {
			continue
		}
		s, err := decodeSnapshot(b)
		if err != nil || s.offset != offset || l.o.Projection.Restore(s.state) != nil {
			continue
		}
		return offset, nil
	}
	return l.bounds.Start, l.o.Projection.Restore(nil)
}

// replay shows the projection the batches of a segment from the offset on. Damaged ones are left out.
func (l *Log) replay(s *segment, from int64, buf []byte) (n int, err error) {
	file, err := l.o.Files.acquire(l.o.FS, s)
	if err != nil {
		return 0, err
	}
	defer l.o.Files.release(file)
	w := walkFile(file, buf, s.size, s.base, maxBase)
	if s.indexer != nil {
		w.pos = int64(s.indexer.floor(from - s.base).pos)
	}
	for {
		st, err := w.step()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if st.header == nil || st.next <= from {
			continue
		}
		b := st.header
		if size := st.end - st.pos; b.Control() && size <= maxControl {
			b = make(Batch, size)
			if _, err := file.ReadAt(b, st.pos); err != nil {
				return n, fmt.Errorf("replay: %w", err)
			}
		}
		l.o.Projection.Replay(b)
		n++
	}
}
