package log

import (
	"encoding/binary"
	"math"
)

// Gap makes a batch without records, as compaction leaves them, that takes the next offsets, 1 to 2147483647 of them. The
// time is when, in milliseconds since 1970.
func Gap(offsets int64, when int64) Batch {
	if offsets < 1 || offsets > math.MaxInt32 {
		panic("log: a gap of this many offsets cannot be written")
	}
	b := Batch(make([]byte, HeaderSize))
	b[posMagic] = 2
	b.setPlace(0, -1)
	b.setLength()
	binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(offsets-1))
	b.setBaseTimestamp(when)
	b.setMaxTimestamp(when)
	binary.BigEndian.PutUint64(b[posProducerID:], math.MaxUint64) // -1: none
	binary.BigEndian.PutUint16(b[posProducerEpoch:], math.MaxUint16)
	binary.BigEndian.PutUint32(b[posBaseSequence:], math.MaxUint32)
	b.setCRC()
	return b
}
