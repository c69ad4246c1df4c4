package log

import "time"

// Header is one record header. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a batch. Nil Key and Value are null; empty ones are not.
type Record struct {
	Offset    int64
	Timestamp int64 // milliseconds since 1970
	Key       []byte
	Value     []byte
	Headers   []Header
}

// CheckBatch applies the structural rules for a batch from a producer: CRC (ErrBadCRC), known codec (ErrBadCodec),
// base offset 0, count > 0 and count == last offset delta + 1, no control bit, a base sequence when there is a producer
// id (ErrBadBatch). With records set it also walks every record (unpacking at most limit bytes): offsets 0, 1, 2, ... and
// lengths that fill the batch exactly; an uncompressed batch is always walked.
func CheckBatch(b Batch, records bool, limit int) error { return errTODO }

// Each calls f for every record, in order, until f returns false. Keys, values and headers are valid only during the
// call. limit bounds the unpacked size. Errors: ErrBadBatch, ErrBadCodec, ErrInflated.
func (b Batch) Each(limit int, f func(r Record) bool) error { return errTODO }

// SetLogAppendTime stamps the batch with the broker's time and computes its CRC anew.
func (b Batch) SetLogAppendTime(t time.Time) {}

// Recompress returns the batch with its records packed by codec; b itself when it already is.
func (b Batch) Recompress(codec Codec, limit int) (Batch, error) { return nil, errTODO }

// Builder collects records into one batch. The zero Builder is ready.
type Builder struct {
	Codec         Codec
	ProducerID    int64 // set Idempotent to use these three
	ProducerEpoch int16
	BaseSequence  int32
	Idempotent    bool
}

// Add appends one record; its offset is the next one, r.Offset is not used.
func (b *Builder) Add(r Record) {}

// Len is the number of records added.
func (b *Builder) Len() int { return 0 }

// Build returns the batch, with base offset 0, and empties the builder.
func (b *Builder) Build() (Batch, error) { return nil, errTODO }
