package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is the compression of a batch's records, as in the low three bits of its attributes.
type Codec uint8

// The codecs of the Kafka protocol.
const (
	NoCodec Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

func (c Codec) String() string {
	switch c {
	case NoCodec:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "unknown"
}

func (c Codec) known() bool { return c <= Zstd }

// Compressors and decompressors hold tables of up to some megabytes, far too much to make for each batch. These pools
// are the package's only variables that change; nothing but time depends on what is in them.
var (
	gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	lz4Writers  = sync.Pool{New: newLZ4Writer}
	lz4Readers  = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
	zstdWriters = sync.Pool{New: newZstdWriter}
	zstdReaders = sync.Pool{New: newZstdReader}
)

// newLZ4Writer leaves out the checksum, since the batch has one, and uses the block size that every client can hold.
func newLZ4Writer() any {
	w := lz4.NewWriter(nil)
	mustApply(w.Apply(lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb)))
	return w
}

func newZstdWriter() any {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	mustApply(err)
	return w
}

// newZstdReader makes a decoder that fills the buffer it is given and never makes one: no size that a frame claims for
// itself or for its window takes memory.
func newZstdReader() any {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true))
	mustApply(err)
	return r
}

// mustApply asserts that the constant options of a codec are valid.
func mustApply(err error) {
	if err != nil {
		panic("log: codec options: " + err.Error())
	}
}

// Compress packs b and appends it to dst. Snappy is written in the xerial frame that Java clients write, LZ4 in its
// frame format. Errors: ErrBadCodec.
func (c Codec) Compress(dst, b []byte) ([]byte, error) {
	switch c {
	case NoCodec:
		return append(dst, b...), nil
	case Gzip:
		w := gzipWriters.Get().(*gzip.Writer)
		defer gzipWriters.Put(w)
		return deflate(dst, w, b)
	case Snappy:
		return xerialCompress(dst, b), nil
	case LZ4:
		w := lz4Writers.Get().(*lz4.Writer)
		defer lz4Writers.Put(w)
		return deflate(dst, w, b)
	case Zstd:
		w := zstdWriters.Get().(*zstd.Encoder)
		defer zstdWriters.Put(w)
		return w.EncodeAll(b, dst), nil
	}
	return nil, fmt.Errorf("%w %d", ErrBadCodec, c)
}

// deflate runs b through w into dst.
func deflate(dst []byte, w interface {
	io.WriteCloser
	Reset(io.Writer)
}, b []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	w.Reset(out)
	defer w.Reset(nil) // the pool must not keep the batch alive
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// Decompress unpacks b and appends it to dst, at most limit bytes: ErrInflated. Snappy is taken with and without the
// xerial frame. Errors: ErrBadCodec, and ErrBadBatch around the codec's own.
//
// The cost in time and memory is bounded by limit and by len(b), whatever sizes b claims.
func (c Codec) Decompress(dst, b []byte, limit int) ([]byte, error) {
	var err error
	switch c {
	case NoCodec:
		if len(b) > limit {
			return nil, ErrInflated
		}
		return append(dst, b...), nil
	case Gzip:
		dst, err = gzipDecompress(dst, b, limit)
	case Snappy:
		dst, err = snappyDecompress(dst, b, limit)
	case LZ4:
		dst, err = lz4Decompress(dst, b, limit)
	case Zstd:
		dst, err = zstdDecompress(dst, b, limit)
	default:
		return nil, fmt.Errorf("%w %d", ErrBadCodec, c)
	}
	if errors.Is(err, ErrInflated) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unpack %s: %w", ErrBadBatch, c, err)
	}
	return dst, nil
}

func gzipDecompress(dst, b []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	defer func() { _ = r.Reset(bytes.NewReader(nil)) }() // forget b; that the empty reader is no gzip is no matter
	return inflate(dst, r, limit)
}

func lz4Decompress(dst, b []byte, limit int) ([]byte, error) {
	src := bytes.NewReader(b)
	r := lz4Readers.Get().(*lz4.Reader)
	defer lz4Readers.Put(r)
	r.Reset(src)
	defer r.Reset(nil)
	dst, err := inflate(dst, r, limit)
	if err == nil && src.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow the frame", src.Len())
	}
	return dst, err
}

// inflate appends what r yields to dst.
func inflate(dst []byte, r io.Reader, limit int) ([]byte, error) {
	end := len(dst) + limit
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(len(dst), 4096))
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), end+1)])
		dst = dst[:len(dst)+n]
		if len(dst) > end {
			return nil, ErrInflated
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// zstdBlock is the most that one block of a frame unpacks to, and what the decoder writes past its end.
const zstdBlock = 128<<10 + 32

// zstdDecompress tries ever larger buffers: the size in a frame is a claim, and may be absent. With space for a block
// behind the room that it grants, a fault within the room is one of the data.
func zstdDecompress(dst, b []byte, limit int) ([]byte, error) {
	r := zstdReaders.Get().(*zstd.Decoder)
	defer zstdReaders.Put(r)
	for room := min(limit, max(4*len(b), 4096)); ; room = min(limit, 4*room) {
		buf := slices.Grow(dst, room+zstdBlock)
		out, err := r.DecodeAll(b, buf[:len(dst):len(dst)+room+zstdBlock])
		size := len(out) - len(dst)
		switch {
		case err == nil && size <= limit:
			return out, nil
		case err != nil && size <= room && !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return nil, err
		case room == limit:
			return nil, ErrInflated
		}
	}
}
