package tests

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Positions in a record batch (version 2) that tests damage, and where its checksum begins to count.
const (
	posBatchLength     = 8
	posBatchMagic      = 16
	posBatchCRC        = 17
	posBatchAttributes = 21
	posBatchLastDelta  = 23
	posBatchCount      = 57
	batchHeaderSize    = 61
)

// newBatch encodes one batch of values, as a producer without idempotence sends it. codec is the attribute bits and
// compress, if not nil, is applied to the records.
func newBatch(codec int16, compress func([]byte) []byte, timestamp int64, values ...[]byte) []byte {
	var records []byte
	for i, v := range values {
		r := kmsg.Record{OffsetDelta: int32(i), Value: v}
		r.Length = int32(len(r.AppendTo(nil)) - 1) // a zero length takes one byte
		records = r.AppendTo(records)
	}
	if compress != nil {
		records = compress(records)
	}
	n := int32(len(values))
	batch := kmsg.RecordBatch{
		Length:               int32(batchHeaderSize - 12 + len(records)),
		PartitionLeaderEpoch: -1,
		Magic:                2,
		Attributes:           codec,
		LastOffsetDelta:      n - 1,
		FirstTimestamp:       timestamp,
		MaxTimestamp:         timestamp,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           n,
		Records:              records,
	}
	return sealBatch(batch.AppendTo(nil))
}

// sealBatch writes the right checksum into a batch that was changed.
func sealBatch(b []byte) []byte {
	crc := crc32.Checksum(b[posBatchAttributes:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(b[posBatchCRC:], crc)
	return b
}

// storedBatch is where a batch stands in a segment file or in a fetched answer.
type storedBatch struct {
	position, size int64
	base, last     int64
}

// batchesIn walks the batches of a file's bytes, up to the end of the data: a batch that is cut off, or zeros.
func batchesIn(t *testing.T, b []byte) []storedBatch {
	t.Helper()
	var all []storedBatch
	for at := int64(0); at+batchHeaderSize <= int64(len(b)); {
		head := b[at:]
		size := int64(int32(binary.BigEndian.Uint32(head[posBatchLength:]))) + 12
		if size < batchHeaderSize || at+size > int64(len(b)) {
			break
		}
		base := int64(binary.BigEndian.Uint64(head))
		last := base + int64(int32(binary.BigEndian.Uint32(head[posBatchLastDelta:])))
		all = append(all, storedBatch{at, size, base, last})
		at += size
	}
	return all
}
