package log

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Builder collects records into one batch. The zero Builder is ready.
type Builder struct {
	Codec         Codec
	ProducerID    int64 // set Idempotent to use these three
	ProducerEpoch int16
	BaseSequence  int32
	Idempotent    bool

	records  []byte // encoded, unpacked
	scratch  []byte // one record
	count    int
	baseTime int64 // time of the first record
	maxTime  int64
}

// Add appends one record; its offset is the next one, r.Offset is not used.
func (b *Builder) Add(r Record) {
	if b.count == 0 {
		b.baseTime, b.maxTime = r.Timestamp, r.Timestamp
	}
	b.maxTime = max(b.maxTime, r.Timestamp)

	s := append(b.scratch[:0], 0) // attributes
	s = binary.AppendVarint(s, r.Timestamp-b.baseTime)
	s = binary.AppendVarint(s, int64(b.count))
	s = appendBytes(s, r.Key)
	s = appendBytes(s, r.Value)
	s = binary.AppendVarint(s, int64(len(r.Headers)))
	for _, h := range r.Headers {
		s = binary.AppendVarint(s, int64(len(h.Key)))
		s = append(s, h.Key...)
		s = appendBytes(s, h.Value)
	}
	b.records = binary.AppendVarint(b.records, int64(len(s)))
	b.records = append(b.records, s...)
	b.scratch = s
	b.count++
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// Len is the number of records added.
func (b *Builder) Len() int { return b.count }

// Size is the number of bytes that the records take, before compression.
func (b *Builder) Size() int { return len(b.records) }

// Build returns the batch, with base offset 0, and empties the builder. Errors: ErrBadBatch when no record was added or
// when there are more than a batch can hold, ErrBadCodec.
func (b *Builder) Build() (Batch, error) {
	count, records := b.count, b.records
	b.count, b.records = 0, b.records[:0]
	if count == 0 || count > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d records", ErrBadBatch, count)
	}
	if len(records) > maxBatchSize-HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes of records", ErrBadBatch, len(records))
	}
	h := Batch(make([]byte, HeaderSize))
	h[posMagic] = 2
	h.setPlace(0, -1)
	binary.BigEndian.PutUint32(h[posLastOffsetDelta:], uint32(count-1))
	h.setBaseTimestamp(b.baseTime)
	h.setMaxTimestamp(b.maxTime)
	h.setCount(int32(count))
	id, epoch, sequence := int64(-1), int16(-1), int32(-1)
	if b.Idempotent {
		id, epoch, sequence = b.ProducerID, b.ProducerEpoch, b.BaseSequence
	}
	binary.BigEndian.PutUint64(h[posProducerID:], uint64(id))
	binary.BigEndian.PutUint16(h[posProducerEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(h[posBaseSequence:], uint32(sequence))
	return assemble(h, records, b.Codec)
}
