package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"

	"brokerd/log/vfs"
)

// The checkpoint file (FORMAT.md, "Checkpoint").
const (
	checkpointMagic   = 0x62726b43 // "brkC"
	checkpointVersion = 1
	checkpointFixed   = 4 + 2 + 2 + 4*8 + 4 // up to the first epoch
	checkpointEpoch   = 4 + 8
	checkpointLimit   = 16 << 20

	checkpointClean = 1 // flag
)

// errNoCheckpoint is reported by recovery when the file does not exist.
var errNoCheckpoint = errors.New("log: no checkpoint")

// epochStart says that the batches from offset start on carry this leader epoch.
type epochStart struct {
	epoch int32
	start int64
}

// checkpoint is what cannot be derived from the segments.
type checkpoint struct {
	start  int64 // log start offset
	epochs []epochStart

	// The recovery point: every byte before position of the segment with this base offset was durable and checked.
	// next is the offset that follows there.
	segment, position, next int64

	clean bool // the log was closed at the recovery point, and nothing was written since
}

func (c checkpoint) encode() []byte {
	b := binary.BigEndian.AppendUint32(nil, checkpointMagic)
	b = binary.BigEndian.AppendUint16(b, checkpointVersion)
	var flags uint16
	if c.clean {
		flags |= checkpointClean
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	for _, v := range []int64{c.start, c.segment, c.position, c.next} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.epochs)))
	for _, e := range c.epochs {
		b = binary.BigEndian.AppendUint32(b, uint32(e.epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.start))
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeCheckpoint undoes encode. Errors: ErrNewerFormat, or what is wrong with the bytes.
func decodeCheckpoint(b []byte) (checkpoint, error) {
	var c checkpoint
	if len(b) < checkpointFixed+4 || binary.BigEndian.Uint32(b) != checkpointMagic {
		return c, errors.New("log: checkpoint: not a checkpoint file")
	}
	if v := binary.BigEndian.Uint16(b[4:]); v > checkpointVersion {
		return c, fmt.Errorf("%w: checkpoint version %d, this program reads up to %d", ErrNewerFormat, v, checkpointVersion)
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return c, fmt.Errorf("log: checkpoint: %w", ErrBadCRC)
	}
	c.clean = binary.BigEndian.Uint16(b[6:])&checkpointClean != 0
	for i, v := range []*int64{&c.start, &c.segment, &c.position, &c.next} {
		*v = int64(binary.BigEndian.Uint64(b[8+8*i:]))
		if *v < 0 || *v > maxBase {
			return c, fmt.Errorf("log: checkpoint: field %d is %d", i, *v)
		}
	}
	n := int64(binary.BigEndian.Uint32(b[checkpointFixed-4:]))
	rest := body[checkpointFixed:]
	if n == 0 || n*checkpointEpoch != int64(len(rest)) {
		return c, fmt.Errorf("log: checkpoint: %d epochs in %d bytes", n, len(rest))
	}
	for ; len(rest) > 0; rest = rest[checkpointEpoch:] {
		e := epochStart{epoch: int32(binary.BigEndian.Uint32(rest)), start: int64(binary.BigEndian.Uint64(rest[4:]))}
		if e.epoch < 0 || e.start < 0 || e.start > maxBase {
			return c, fmt.Errorf("log: checkpoint: epoch %d from %d", e.epoch, e.start)
		}
		c.epochs = append(c.epochs, e)
	}
	return c, nil
}

func readCheckpoint(fs vfs.FS, dir string) (checkpoint, error) {
	b, err := readFile(fs, path.Join(dir, checkpointName), checkpointLimit)
	if isNotExist(err) {
		return checkpoint{}, errNoCheckpoint
	}
	if err != nil {
		return checkpoint{}, err
	}
	return decodeCheckpoint(b)
}

// write replaces the checkpoint durably.
func (c checkpoint) write(fs vfs.FS, dir string) error {
	if err := writeAtomic(fs, path.Join(dir, checkpointName), c.encode()); err != nil {
		return err
	}
	return fs.SyncDir(dir)
}
