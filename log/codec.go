package log

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

// Compress packs b and appends it to dst. Snappy is written in the xerial frame that Java clients write, LZ4 in its
// frame format. Errors: ErrBadCodec.
func (c Codec) Compress(dst, b []byte) ([]byte, error) { return nil, errTODO }

// Decompress unpacks b and appends it to dst, at most limit bytes: ErrInflated. Snappy is taken with and without the
// xerial frame. Errors: ErrBadCodec, and ErrBadBatch around the codec's own.
func (c Codec) Decompress(dst, b []byte, limit int) ([]byte, error) { return nil, errTODO }
