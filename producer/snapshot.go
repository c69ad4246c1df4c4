package producer

import (
	"encoding/binary"
	"fmt"
)

const (
	snapshotVersion = 1

	snapshotHeader = 2 + 4
	rowHeader      = 8 + 2 + 8 + 1
	spanSize       = 4 + 4 + 8
	smallestRow    = rowHeader + spanSize
)

// Snapshot implements log.Projection. All five batches of every producer are kept, so that a client with five requests
// in flight over a restart is still recognised. All numbers are big endian:
//
//	size  field
//	   2  version, 1
//	   4  number of producers, then for each of them, ordered by id:
//	   8    producer id, >= 0
//	   2    epoch, >= 0
//	   8    time of its last append, milliseconds since 1970
//	   1    number of batches, 1 to 5, then for each of them, the oldest first:
//	   4      first sequence, >= 0
//	   4      last sequence, >= 0
//	   8      offset of the first record, >= 0
//
// The last offset follows from the sequences. There is no checksum: the log keeps one over the snapshot.
func (t *Table) Snapshot() []byte {
	b := make([]byte, 0, snapshotHeader+len(t.rows)*(rowHeader+Window*spanSize))
	b = binary.BigEndian.AppendUint16(b, snapshotVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.rows)))
	for _, id := range t.ids() {
		r := t.rows[id]
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint16(b, uint16(r.epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(r.seen))
		b = append(b, byte(len(r.spans)))
		for _, s := range r.spans {
			b = binary.BigEndian.AppendUint32(b, uint32(s.first))
			b = binary.BigEndian.AppendUint32(b, uint32(s.last))
			b = binary.BigEndian.AppendUint64(b, uint64(s.base))
		}
	}
	return b
}

// Restore implements log.Projection: the table becomes what Snapshot wrote, or empty for nil. After ErrBadSnapshot it
// is unchanged.
func (t *Table) Restore(b []byte) error {
	if len(b) == 0 {
		clear(t.rows)
		return nil
	}
	if len(b) < snapshotHeader {
		return fmt.Errorf("%w: %d bytes", ErrBadSnapshot, len(b))
	}
	if v := binary.BigEndian.Uint16(b); v != snapshotVersion {
		return fmt.Errorf("%w: version %d, want %d", ErrBadSnapshot, v, snapshotVersion)
	}
	count := int64(binary.BigEndian.Uint32(b[2:]))
	b = b[snapshotHeader:]
	if count > int64(len(b)/smallestRow) {
		return fmt.Errorf("%w: %d producers in %d bytes", ErrBadSnapshot, count, len(b))
	}
	rows := make(map[int64]*row, count)
	for last := int64(-1); count > 0; count-- {
		id, r, rest, err := readRow(b)
		if err != nil {
			return err
		}
		if id <= last {
			return fmt.Errorf("%w: producer %d after %d", ErrBadSnapshot, id, last)
		}
		rows[id], last, b = r, id, rest
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrBadSnapshot, len(b))
	}
	t.rows = rows
	return nil
}

// readRow decodes one producer and returns what follows it.
func readRow(b []byte) (id int64, r *row, rest []byte, err error) {
	if len(b) < smallestRow {
		return 0, nil, nil, fmt.Errorf("%w: cut off", ErrBadSnapshot)
	}
	id = int64(binary.BigEndian.Uint64(b))
	r = &row{
		epoch: int16(binary.BigEndian.Uint16(b[8:])),
		seen:  int64(binary.BigEndian.Uint64(b[10:])),
		spans: make([]span, 0, Window),
	}
	n := int(b[18])
	b = b[rowHeader:]
	if id < 0 || r.epoch < 0 || n < 1 || n > Window || len(b) < n*spanSize {
		return 0, nil, nil, fmt.Errorf("%w: producer %d with epoch %d and %d batches in %d bytes", ErrBadSnapshot, id, r.epoch, n, len(b))
	}
	for range n {
		s := span{
			first: int32(binary.BigEndian.Uint32(b)),
			last:  int32(binary.BigEndian.Uint32(b[4:])),
			base:  int64(binary.BigEndian.Uint64(b[8:])),
		}
		if s.first < 0 || s.last < 0 || s.base < 0 {
			return 0, nil, nil, fmt.Errorf("%w: producer %d: negative sequence or offset", ErrBadSnapshot, id)
		}
		r.spans, b = append(r.spans, s), b[spanSize:]
	}
	return id, r, b, nil
}
