package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"

	"brokerd/log/vfs"
)

// The file of erased offsets (FORMAT.md, "Erased records").
const (
	erasedMagic   = 0x62726b45 // "brkE"
	erasedVersion = 1
	erasedHeader  = 4 + 2 + 2 + 4
	erasedLimit   = 1 << 30

	erasureMark  = 0x62726b65 // "brke"
	erasureFixed = 4 + 4 + 8 + 4
	erasureWords = 1024 // of one entry at most
	erasureGap   = 2    // so many empty words are cheaper than another entry
)

// appendErasedHeader begins the file.
func appendErasedHeader(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, erasedMagic)
	b = binary.BigEndian.AppendUint16(b, erasedVersion)
	b = binary.BigEndian.AppendUint16(b, 0)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[len(b)-8:], castagnoli))
}

// appendErasures encodes a set as entries.
func appendErasures(b []byte, s *offsetSet) []byte {
	var masks []uint64
	first := int64(-1)
	for w := range s.words(0, maxBase+1<<33) {
		if first >= 0 {
			gap := (w.first-first)/wordBits - int64(len(masks))
			if gap <= erasureGap && int64(len(masks))+gap < erasureWords {
				masks = append(append(masks, make([]uint64, gap)...), w.mask)
				continue
			}
			b = appendErasure(b, first, masks)
		}
		first, masks = w.first, append(masks[:0], w.mask)
	}
	if first >= 0 {
		b = appendErasure(b, first, masks)
	}
	return b
}

func appendErasure(b []byte, first int64, masks []uint64) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, erasureMark)
	b = binary.BigEndian.AppendUint32(b, 0) // the CRC goes here
	b = binary.BigEndian.AppendUint64(b, uint64(first))
	b = binary.BigEndian.AppendUint32(b, uint32(len(masks)))
	for _, mask := range masks {
		b = binary.BigEndian.AppendUint64(b, mask)
	}
	binary.BigEndian.PutUint32(b[at+4:], crc32.Checksum(b[at+8:], castagnoli))
	return b
}

// parseErasure adds the entry at the start of b to a set and returns its length; 0 when there is no good one.
func parseErasure(b []byte, s *offsetSet) int {
	if len(b) < erasureFixed || binary.BigEndian.Uint32(b) != erasureMark {
		return 0
	}
	first, n := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])
	if n == 0 || n > erasureWords || first > maxBase || first%wordBits != 0 {
		return 0
	}
	size := erasureFixed + int(n)*8
	if size > len(b) || crc32.Checksum(b[8:size], castagnoli) != binary.BigEndian.Uint32(b[4:]) {
		return 0
	}
	for i := range int64(n) {
		s.or(int64(first)/wordBits+i, binary.BigEndian.Uint64(b[erasureFixed+8*i:]))
	}
	return size
}

// foundErased is what the file says.
type foundErased struct {
	set  offsetSet
	size int64 // of the file; 0 when there is none
	torn int64 // bytes at its end that are no good entry, though not all are zero
	bad  []CorruptError
}

// decodeErased reads the file: ErrNewerFormat.
func decodeErased(b []byte) (found foundErased, err error) {
	found.size = int64(len(b))
	whole := len(b) >= erasedHeader && crc32.Checksum(b[:8], castagnoli) == binary.BigEndian.Uint32(b[8:])
	switch {
	case whole && binary.BigEndian.Uint32(b) == erasedMagic:
		if v := binary.BigEndian.Uint16(b[4:]); v > erasedVersion {
			return found, fmt.Errorf("%w: erased: version %d, this program reads up to %d", ErrNewerFormat, v, erasedVersion)
		}
	case len(b) >= erasedHeader:
		found.damage(0, erasedHeader, "no header of such a file")
	}
	mark := binary.BigEndian.AppendUint32(nil, erasureMark)
	from := 0 // what follows the last good entry
	if len(b) >= erasedHeader {
		from = erasedHeader
	}
	for pos := from; pos < len(b); {
		if n := parseErasure(b[pos:], &found.set); n > 0 {
			if pos > from {
				found.damage(from, pos, "no entry of such a file")
			}
			pos += n
			from = pos
			continue
		}
		next := bytes.Index(b[pos+1:], mark)
		if next < 0 {
			break
		}
		pos += 1 + next
	}
	if rest := b[from:]; !zeros(rest) {
		found.torn = int64(len(rest))
	}
	return found, nil
}

// damage takes note of bad bytes, for which no offset is withheld.
func (f *foundErased) damage(from, to int, reason string) {
	f.bad = append(f.bad, CorruptError{
		Segment: erasedName, Position: int64(from), Length: int64(to - from), First: 0, Last: -1, Reason: reason,
	})
}

// readErased reads the file of a log's directory. Errors: ErrNewerFormat, and those of the file system. A file that
// does not exist erases nothing.
func readErased(fs vfs.FS, dir string) (foundErased, error) {
	b, err := readFile(fs, path.Join(dir, erasedName), erasedLimit)
	switch {
	case isNotExist(err):
		return foundErased{}, nil
	case errors.Is(err, errTooLong):
		var found foundErased
		found.size = erasedLimit + 1
		found.damage(0, erasedLimit, err.Error())
		return found, nil
	case err != nil:
		return foundErased{}, err
	}
	return decodeErased(b)
}
