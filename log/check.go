package log

import (
	"fmt"
	"time"
)

// CheckBatch applies the structural rules for a batch from a producer: CRC (ErrBadCRC), known codec (ErrBadCodec),
// base offset 0, count > 0 and count == last offset delta + 1, no control bit, a base sequence when there is a producer
// id (ErrBadBatch). With records set it also walks every record (unpacking at most limit bytes): offsets 0, 1, 2, ... and
// lengths that fill the batch exactly; an uncompressed batch is always walked.
//
// The rules are those of Kafka's LogValidator, in its order. The batch must come from ParseBatch.
func CheckBatch(b Batch, records bool, limit int) error {
	if err := b.CheckCRC(); err != nil {
		return err
	}
	switch {
	case b.BaseOffset() != 0:
		return fmt.Errorf("%w: base offset %d, want 0", ErrBadBatch, b.BaseOffset())
	case b.Count() <= 0:
		return fmt.Errorf("%w: %d records", ErrBadBatch, b.Count())
	case int64(b.Count()) != int64(b.LastOffsetDelta())+1:
		return fmt.Errorf("%w: %d records, last offset delta %d", ErrBadBatch, b.Count(), b.LastOffsetDelta())
	case b.Control():
		return fmt.Errorf("%w: control batch from a client", ErrBadBatch)
	case b.ProducerID() >= 0 && b.BaseSequence() < 0:
		return fmt.Errorf("%w: producer id %d without a sequence", ErrBadBatch, b.ProducerID())
	case !b.Codec().known():
		return fmt.Errorf("%w %d", ErrBadCodec, b.Codec())
	}
	if !records && b.Codec() != NoCodec {
		return nil
	}
	// Each wants rising offsets up to the last delta: that many records can only be 0, 1, 2, ...
	return b.Each(limit, func(Record) bool { return true })
}

// SetLogAppendTime stamps the batch with the broker's time and computes its CRC anew.
func (b Batch) SetLogAppendTime(t time.Time) {
	b.setAttributes(b.Attributes() | attrLogAppendTime)
	b.setMaxTimestamp(t.UnixMilli())
	b.setCRC()
}

// Recompress returns the batch with its records packed by codec; b itself when it already is. The records are not
// looked at. Errors: ErrBadBatch, ErrBadCodec, ErrInflated.
func (b Batch) Recompress(codec Codec, limit int) (Batch, error) {
	if b.Codec() == codec {
		return b, nil
	}
	records, err := b.unpack(limit)
	if err != nil {
		return nil, err
	}
	return assemble(b[:HeaderSize], records, codec)
}

// assemble makes a batch of a header and unpacked records: it packs them and sets length, codec and CRC.
func assemble(header, records []byte, codec Codec) (Batch, error) {
	packed, err := codec.Compress(append(make([]byte, 0, HeaderSize+len(records)), header...), records)
	if err != nil {
		return nil, err
	}
	if len(packed) > maxBatchSize {
		return nil, fmt.Errorf("%w: %d bytes do not fit the length field", ErrBadBatch, len(packed))
	}
	b := Batch(packed)
	b.setLength()
	b.setAttributes(b.Attributes()&^codecMask | int16(codec))
	b.setCRC()
	return b, nil
}
