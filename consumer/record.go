package consumer

import (
	"encoding/binary"
	"errors"
	"time"

	"brokerd/topic"
)

// Three buckets of the metadata file hold all of this package's state. Numbers are big-endian; n= is an unsigned varint.
//
//	"groups"   key    the group id
//	  classic  value  | 1 | generation int32 | empty since, ms int64 | type | protocol | leader | n= members | member ... |
//	           member | id | instance | client | host | session, ms int64 | rebalance, ms int64 | assignment |
//	                  | n= protocols | name | metadata | ... |
//	  consumer value  | 2 | group epoch int32 | epoch of the targets int32 | empty since, ms int64 | fingerprint 32 bytes |
//
//	"members"  key    | group | member id |                              members of consumer groups
//	           value  | 1 | instance | rack | client | host | regex | assignor | rebalance, ms int64 |
//	                  | n= topics | name | ... | epoch int32 | epoch before int32 | target | assigned | revoking |
//	                  | since int32, for each place of assigned and then of revoking |
//	           target, assigned and revoking are each
//	                  | n= topics | topic id 16 bytes | n= partitions | n= partition | ... | ... |
//
//	"offsets"  key    | group | topic | partition uint32 |
//	           value  | 1 | topic id 16 bytes | offset int64 | leader epoch int32 | committed, ms int64 | metadata |
//
// A string, or a piece of bytes, is its length (n=) and then itself. The first byte is the version of the format.
var (
	groupsBucket  = []byte("groups")
	membersBucket = []byte("members")
	offsetsBucket = []byte("offsets")
)

const (
	recordVersion   = 1
	consumerVersion = 2 // of a record in "groups": a consumer group
)

var errRecord = errors.New("consumer: damaged or unknown record")

func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// decoder reads fields one after the other; after the first that is not there, all are zero and ok is false.
type decoder struct {
	b   []byte
	bad bool
}

// take returns the next n bytes, which belong to the record.
func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) uint8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string { return string(d.take(d.uvarint())) }
func (d *decoder) bytes() []byte  { return append([]byte(nil), d.take(d.uvarint())...) }

// end says whether the whole record was read, and nothing else was there.
func (d *decoder) end() error {
	if d.bad || len(d.b) > 0 {
		return errRecord
	}
	return nil
}

// millis and fromMillis keep the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// groupPrefix starts the keys of all offsets and members of a group.
func groupPrefix(group string) []byte { return appendString(nil, group) }

func offsetKey(group, topic string, partition int32) []byte {
	return appendInt32(appendString(groupPrefix(group), topic), partition)
}

func decodeOffsetKey(key []byte) (group, topic string, partition int32, err error) {
	d := &decoder{b: key}
	group, topic, partition = d.string(), d.string(), d.int32()
	return group, topic, partition, d.end()
}

func encodeOffset(s stored) []byte {
	b := append([]byte{recordVersion}, s.topic[:]...)
	b = appendInt64(b, s.Offset.Offset)
	b = appendInt32(b, s.LeaderEpoch)
	b = appendInt64(b, millis(s.Time))
	return appendString(b, s.Metadata)
}

func decodeOffset(value []byte) (stored, error) {
	d := &decoder{b: value}
	if d.uint8() != recordVersion {
		return stored{}, errRecord
	}
	var id topic.ID
	copy(id[:], d.take(uint64(len(id))))
	s := stored{topic: id}
	s.Offset = Offset{Offset: d.int64(), LeaderEpoch: d.int32(), Time: fromMillis(d.int64()), Metadata: d.string()}
	return s, d.end()
}
