package log

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var packing = codecs[1:]

func inputs() map[string][]byte {
	noise := make([]byte, 100_000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"empty":   {},
		"byte":    {7},
		"text":    bytes.Repeat([]byte("a line of text\n"), 10_000),
		"noise":   noise,
		"a block": noise[:xerialBlock],
		"zeros":   make([]byte, testLimit),
	}
}

func TestCodecs(t *testing.T) {
	for name, in := range inputs() {
		for _, c := range codecs {
			packed, err := c.Compress([]byte("dst"), in)
			if err != nil {
				t.Fatalf("%s, %s: %v", c, name, err)
			}
			if !bytes.HasPrefix(packed, []byte("dst")) {
				t.Errorf("%s, %s: Compress loses what was there", c, name)
			}
			out, err := c.Decompress([]byte("dst"), packed[3:], len(in))
			if err != nil || !bytes.Equal(out, append([]byte("dst"), in...)) {
				t.Errorf("%s, %s: %d bytes become %d, %v", c, name, len(in), len(out), err)
			}
			if len(in) > 0 {
				if _, err := c.Decompress(nil, packed[3:], len(in)-1); !errors.Is(err, ErrInflated) {
					t.Errorf("%s, %s: a limit of one byte less gives %v", c, name, err)
				}
			}
		}
	}
}

// What other implementations and other settings write.
func TestDecompressOthers(t *testing.T) {
	text := inputs()["text"]
	buf := func(f func(w io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := f(&b)
		_, _ = w.Write(text)
		_ = w.Close()
		return b.Bytes()
	}
	lz4With := func(o ...lz4.Option) []byte {
		return buf(func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			_ = z.Apply(o...)
			return z
		})
	}
	zstdWith := func(o ...zstd.EOption) []byte {
		return buf(func(w io.Writer) io.WriteCloser { return must(zstd.NewWriter(w, o...)) })
	}
	for name, c := range map[string]struct {
		codec  Codec
		packed []byte
	}{
		"gzip of the standard library": {Gzip, buf(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })},
		"raw snappy":                   {Snappy, s2.EncodeSnappy(nil, text)},
		"lz4 with checksums":           {LZ4, lz4With(lz4.ChecksumOption(true), lz4.BlockChecksumOption(true))},
		"lz4 with large blocks":        {LZ4, lz4With(lz4.BlockSizeOption(lz4.Block4Mb))},
		"lz4 with a size":              {LZ4, lz4With(lz4.SizeOption(uint64(len(text))))},
		"zstd without a size":          {Zstd, zstdWith()},
		"zstd, best":                   {Zstd, zstdWith(zstd.WithEncoderLevel(zstd.SpeedBestCompression))},
		"zstd, large window":           {Zstd, zstdWith(zstd.WithWindowSize(64 << 20))},
	} {
		out, err := c.codec.Decompress(nil, c.packed, len(text))
		if err != nil || !bytes.Equal(out, text) {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
		if _, err := c.codec.Decompress(nil, c.packed, len(text)-1); !errors.Is(err, ErrInflated) {
			t.Errorf("%s: a limit of one byte less gives %v", name, err)
		}
	}
}

func TestXerialFrame(t *testing.T) {
	packed := must(Snappy.Compress(nil, []byte("abc")))
	want := "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" + "\x00\x00\x00\x05" + "\x03\x08abc"
	if string(packed) != want {
		t.Errorf("frame is %q, want %q", packed, want)
	}
}

func TestDecompressGarbage(t *testing.T) {
	xerial := func(blocks string) []byte { return []byte(xerialHeader + blocks) }
	for name, c := range map[string]struct {
		codec  Codec
		packed []byte
	}{
		"gzip, empty":                 {Gzip, nil},
		"gzip, garbage":               {Gzip, []byte("garbage, and enough of it")},
		"lz4, garbage":                {LZ4, []byte("garbage, and enough of it")},
		"zstd, garbage":               {Zstd, []byte("garbage, and enough of it")},
		"snappy, empty":               {Snappy, nil},
		"snappy, garbage":             {Snappy, []byte("garbage, and enough of it")},
		"snappy, endless length":      {Snappy, bytes.Repeat([]byte{0xff}, 20)},
		"xerial, header cut off":      {Snappy, []byte(xerialMagic)},
		"xerial, length cut off":      {Snappy, xerial("\x00\x00")},
		"xerial, block cut off":       {Snappy, xerial("\x00\x00\x00\x06\x03\x08abc")},
		"xerial, block length -1":     {Snappy, xerial("\xff\xff\xff\xff\x03\x08abc")},
		"xerial, block is garbage":    {Snappy, xerial("\x00\x00\x00\x05\x09\x08abc")},
		"lz4, bytes after the frame":  {LZ4, append(must(LZ4.Compress(nil, []byte("abc"))), "more"...)},
		"gzip, bytes after the frame": {Gzip, append(must(Gzip.Compress(nil, []byte("abc"))), "more"...)},
		"zstd, bytes after the frame": {Zstd, append(must(Zstd.Compress(nil, []byte("abc"))), "more"...)},
	} {
		if out, err := c.codec.Decompress(nil, c.packed, testLimit); !errors.Is(err, ErrBadBatch) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	for _, c := range packing {
		packed := must(c.Compress(nil, inputs()["text"]))
		for _, cut := range []int{1, len(packed) / 2, len(packed) - 1} {
			if out, err := c.Decompress(nil, packed[:cut], testLimit); !errors.Is(err, ErrBadBatch) {
				t.Errorf("%s cut to %d of %d bytes: %d bytes, %v", c, cut, len(packed), len(out), err)
			}
		}
		// The pools are not harmed by what failed.
		if out, err := c.Decompress(nil, packed, testLimit); err != nil || len(out) == 0 {
			t.Errorf("%s: %d bytes, %v", c, len(out), err)
		}
	}
}

func TestUnknownCodec(t *testing.T) {
	for _, c := range []Codec{5, 6, 7} {
		_, packErr := c.Compress(nil, nil)
		_, unpackErr := c.Decompress(nil, nil, 1)
		if !errors.Is(packErr, ErrBadCodec) || !errors.Is(unpackErr, ErrBadCodec) {
			t.Errorf("codec %d: %v, %v", c, packErr, unpackErr)
		}
	}
}

// Small inputs that unpack to, or claim to unpack to, very much cost no more than the limit, and little when they only
// claim.
func TestDecompressBombs(t *testing.T) {
	const huge, limit = 64 << 20, 1 << 20
	zeros := make([]byte, huge)
	claimZstd := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 16, 1, 0, 0} // 256 MiB of content, an empty block
	claimSnappy := binary.AppendUvarint(nil, limit)
	for name, c := range map[string]struct {
		codec  Codec
		packed []byte
		want   error
		budget uint64
	}{
		"gzip":            {Gzip, must(Gzip.Compress(nil, zeros)), ErrInflated, 8 * limit},
		"snappy":          {Snappy, must(Snappy.Compress(nil, zeros)), ErrInflated, 8 * limit},
		"raw snappy":      {Snappy, s2.EncodeSnappy(nil, zeros), ErrInflated, 8 * limit},
		"lz4":             {LZ4, must(LZ4.Compress(nil, zeros)), ErrInflated, 8 * limit},
		"zstd":            {Zstd, must(Zstd.Compress(nil, zeros)), ErrInflated, 8 * limit},
		"zstd, claimed":   {Zstd, claimZstd, ErrInflated, 4 * limit},
		"snappy, claimed": {Snappy, append(claimSnappy, "abc"...), ErrBadBatch, limit / 4},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.codec.Decompress(nil, c.packed, limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", name, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > c.budget {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

func TestCodecsAreConcurrent(t *testing.T) {
	text := inputs()["text"]
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 20 {
				c := packing[(n+i)%len(packing)]
				in := text[n*100 : 1000+n*1000]
				out, err := c.Decompress(nil, must(c.Compress(nil, in)), testLimit)
				if err != nil || !bytes.Equal(in, out) {
					t.Errorf("%s: %v", c, err)
				}
			}
		})
	}
	wg.Wait()
}
