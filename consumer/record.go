package consumer

import (
	"encoding/binary"
	"errors"
	"time"

	"brokerd/topic"
)

// Two buckets of the metadata file hold all of this package's state. Numbers are big-endian; n= is an unsigned varint.
//
//	"groups"   key    the group id
//	           value  | 1 | generation int32 | empty since, ms int64 | type | protocol | leader | n= members | member ... |
//	           member | id | instance | client | host | session, ms int64 | rebalance, ms int64 | assignment |
//	                  | n= protocols | name | metadata | ... |
//
//	"offsets"  key    | group | topic | partition uint32 |
//	           value  | 1 | topic id 16 bytes | offset int64 | leader epoch int32 | committed, ms int64 | metadata |
//
// A string, or a piece of bytes, is its length (n=) and then itself. The first byte is the version of the format.
var (
	groupsBucket  = []byte("groups")
	offsetsBucket = []byte("offsets")
)

const recordVersion = 1

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

func encodeGroup(g *group) []byte {
	b := []byte{recordVersion}
	b = appendInt32(b, g.generation)
	b = appendInt64(b, millis(g.emptySince))
	b = appendString(b, g.protocolType)
	b = appendString(b, g.protocol)
	b = appendString(b, g.leader)
	b = binary.AppendUvarint(b, uint64(len(g.members)))
	for _, m := range g.sorted() {
		b = appendString(b, m.id)
		b = appendString(b, m.instance)
		b = appendString(b, m.client)
		b = appendString(b, m.host)
		b = appendInt64(b, m.session.Milliseconds())
		b = appendInt64(b, m.rebalance.Milliseconds())
		b = appendString(b, m.assignment)
		b = binary.AppendUvarint(b, uint64(len(m.protocols)))
		for _, p := range m.protocols {
			b = appendString(b, p.Name)
			b = appendString(b, p.Metadata)
		}
	}
	return b
}

// decodeGroup restores a group as it was saved: stable, with sessions that start now, or empty.
func decodeGroup(record []byte, s Settings, now time.Time) (*group, error) {
	d := &decoder{b: record}
	if d.uint8() != recordVersion {
		return nil, errRecord
	}
	g := newGroup(s)
	g.generation = d.int32()
	g.emptySince = fromMillis(d.int64())
	g.protocolType, g.protocol, g.leader = d.string(), d.string(), d.string()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		m := d.member()
		if g.members[m.id] != nil {
			return nil, errRecord
		}
		m.order, m.synced = len(g.members), true
		m.refresh(now)
		g.members[m.id] = m
		if m.instance != "" {
			g.static[m.instance] = m.id
		}
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	g.joined = len(g.members)
	if len(g.members) > 0 {
		g.state = Stable
		if leader := g.members[g.leader]; leader == nil || !g.allHave(g.protocol) {
			return nil, errRecord
		}
	}
	return g, nil
}

func (d *decoder) member() *member {
	m := &member{id: d.string(), instance: d.string(), client: d.string(), host: d.string()}
	m.session = time.Duration(d.int64()) * time.Millisecond
	m.rebalance = time.Duration(d.int64()) * time.Millisecond
	m.assignment = d.bytes()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		m.protocols = append(m.protocols, Protocol{d.string(), d.bytes()})
	}
	return m
}

// offsetPrefix starts the keys of all offsets of a group.
func offsetPrefix(group string) []byte { return appendString(nil, group) }

func offsetKey(group, topic string, partition int32) []byte {
	return appendInt32(appendString(offsetPrefix(group), topic), partition)
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
