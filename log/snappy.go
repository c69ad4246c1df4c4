package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
)

// The xerial frame of snappy: this header, then blocks of a big-endian int32 length and so many bytes of raw snappy.
// snappy-java writes it, and with it every Java client of Kafka.
const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeader     = xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01" // version 1, readable since version 1
	xerialHeaderSize = len(xerialHeader)
	xerialBlock      = 32 << 10 // bytes packed into one block, as snappy-java does
)

var errSnappyClaim = errors.New("block claims to unpack to more than it can hold")

func xerialCompress(dst, b []byte) []byte {
	dst = append(dst, xerialHeader...)
	for block := range slices.Chunk(b, xerialBlock) {
		at := len(dst) + 4
		dst = slices.Grow(dst, 4+s2.MaxEncodedLen(len(block)))
		n := len(s2.EncodeSnappy(dst[at:cap(dst)], block))
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))[:at+n]
	}
	return dst
}

func snappyDecompress(dst, b []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte(xerialMagic)) {
		return snappyBlock(dst, b, limit)
	}
	if len(b) < xerialHeaderSize {
		return nil, errors.New("xerial header is cut off")
	}
	end := len(dst) + limit
	for b = b[xerialHeaderSize:]; len(b) > 0; {
		if len(b) < 4 {
			return nil, errors.New("xerial block length is cut off")
		}
		n := int64(binary.BigEndian.Uint32(b))
		if b = b[4:]; n > int64(len(b)) {
			return nil, fmt.Errorf("xerial block of %d bytes, %d are here", n, len(b))
		}
		var err error
		if dst, err = snappyBlock(dst, b[:n], end-len(dst)); err != nil {
			return nil, err
		}
		b = b[n:]
	}
	return dst, nil
}

// snappyBlock appends one unpacked block to dst. The length it claims is believed only as far as the format allows: the
// densest element is a copy of 64 bytes in 3.
func snappyBlock(dst, b []byte, limit int) ([]byte, error) {
	size, err := snappy.DecodedLen(b)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, ErrInflated
	}
	if int64(size) > int64(len(b))*64/3 {
		return nil, errSnappyClaim
	}
	dst = slices.Grow(dst, size)
	if _, err := snappy.Decode(dst[len(dst):len(dst)+size], b); err != nil {
		return nil, err
	}
	return dst[:len(dst)+size], nil
}
