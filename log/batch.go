package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Sizes and positions of the record batch header, version 2 (FORMAT.md, "Record batch").
const (
	// HeaderSize is the number of bytes before the first record of a batch.
	HeaderSize = 61

	lengthPrefix = 12 // base offset and length field: what the length field does not count
	maxBatchSize = 1<<31 - 1

	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// Attribute bits of a batch.
const (
	codecMask         = 0x07
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
	attrDeleteHorizon = 1 << 6
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one record batch (magic 2) as it travels and as it is stored. It is a view: the bytes belong to whoever
// made it. ParseBatch guarantees that the header is complete and that the length field equals len(b).
type Batch []byte

// ParseBatch returns the first batch of b and what follows it. It checks magic and lengths (ErrBadBatch), neither the
// CRC nor the records.
func ParseBatch(b []byte) (Batch, []byte, error) {
	if len(b) < HeaderSize {
		return nil, nil, fmt.Errorf("%w: %d bytes are less than a header", ErrBadBatch, len(b))
	}
	if magic := b[posMagic]; magic != 2 {
		return nil, nil, fmt.Errorf("%w: magic %d, want 2", ErrBadBatch, magic)
	}
	n := int64(int32(binary.BigEndian.Uint32(b[posLength:]))) + lengthPrefix
	if n < HeaderSize || n > int64(len(b)) {
		return nil, nil, fmt.Errorf("%w: length %d, %d bytes are here", ErrBadBatch, n, len(b))
	}
	return Batch(b[:n:n]), b[n:], nil
}

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[posBaseOffset:])) }

// Size is the whole batch in bytes, by its length field.
func (b Batch) Size() int64 {
	return int64(int32(binary.BigEndian.Uint32(b[posLength:]))) + lengthPrefix
}

// LeaderEpoch is the epoch in which the batch was appended.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[posLeaderEpoch:])) }

// CRC is the stored CRC-32C of everything from the attributes on.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the batch's flag bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & codecMask) }

// LogAppendTime says that MaxTimestamp is the broker's arrival time and holds for every record.
func (b Batch) LogAppendTime() bool { return b.Attributes()&attrLogAppendTime != 0 }

// Transactional says that the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes()&attrTransactional != 0 }

// Control says that the batch holds a transaction marker, not records of a user.
func (b Batch) Control() bool { return b.Attributes()&attrControl != 0 }

// LastOffset is the offset of the last record the batch was written with.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// LastOffsetDelta is LastOffset - BaseOffset.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:]))
}

// BaseTimestamp is the time, in milliseconds since 1970, that the records' deltas count from.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])) }

// MaxTimestamp is the largest record time in milliseconds since 1970.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])) }

// newestTime is MaxTimestamp as far as a record has it: -1 when compaction left none.
func (b Batch) newestTime() int64 {
	if b.Count() == 0 {
		return -1
	}
	return b.MaxTimestamp()
}

// deleteHorizon is the time, in milliseconds since 1970, from which on compaction drops the batch's records without a
// value.
func (b Batch) deleteHorizon() (t int64, ok bool) {
	return b.BaseTimestamp(), b.Attributes()&attrDeleteHorizon != 0
}

// ProducerID identifies an idempotent producer; -1 for none.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[posProducerID:])) }

// ProducerEpoch fences older incarnations of ProducerID; -1 for none.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[posProducerEpoch:])) }

// BaseSequence is the producer's sequence number of the first record; -1 for none.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[posBaseSequence:])) }

// LastSequence is the sequence number of the last record; it wraps from 2147483647 to 0 (KIP-98).
func (b Batch) LastSequence() int32 {
	return int32((int64(b.BaseSequence()) + int64(b.LastOffsetDelta())) & 0x7fffffff)
}

// Count is the number of records in the batch.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[posCount:])) }

// CheckCRC compares the stored CRC with the bytes: ErrBadCRC.
func (b Batch) CheckCRC() error {
	if got := crc32.Checksum(b[posAttributes:], castagnoli); got != b.CRC() {
		return fmt.Errorf("%w: stored %08x, computed %08x", ErrBadCRC, b.CRC(), got)
	}
	return nil
}

// setPlace writes what the broker decides: it lies outside the CRC.
func (b Batch) setPlace(base int64, epoch int32) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(base))
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(epoch))
}

// setCRC writes the CRC of the bytes as they are now.
func (b Batch) setCRC() {
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
}

// setAttributes writes the flag bits; setCRC must follow.
func (b Batch) setAttributes(a int16) {
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(a))
}

// setCount writes the number of records; setCRC must follow.
func (b Batch) setCount(n int32) { binary.BigEndian.PutUint32(b[posCount:], uint32(n)) }

// setBaseTimestamp writes the time that records count from; setCRC must follow.
func (b Batch) setBaseTimestamp(ms int64) {
	binary.BigEndian.PutUint64(b[posBaseTimestamp:], uint64(ms))
}

// setMaxTimestamp writes the largest time; setCRC must follow.
func (b Batch) setMaxTimestamp(ms int64) { binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms)) }

// setLength writes the length field from the length of b.
func (b Batch) setLength() {
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-lengthPrefix))
}
