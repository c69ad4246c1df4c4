package producer

import (
	"encoding/binary"

	"brokerd/log"
)

// newBatch makes the header of a batch of n records: all that the table looks at.
func newBatch(id int64, epoch int16, first int32, n int32, base int64) log.Batch {
	b := make([]byte, log.HeaderSize)
	binary.BigEndian.PutUint64(b, uint64(base))
	binary.BigEndian.PutUint32(b[8:], log.HeaderSize-12)
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(n-1))
	binary.BigEndian.PutUint64(b[43:], uint64(id))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(first))
	binary.BigEndian.PutUint32(b[57:], uint32(n))
	return b
}
