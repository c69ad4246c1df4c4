package log

import (
	"encoding/binary"
	"fmt"
	"math"
)

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

// Each calls f for every record, in order, until f returns false. Keys, values and headers are valid only during the
// call. limit bounds the unpacked size. Errors: ErrBadBatch, ErrBadCodec, ErrInflated.
//
// Offsets rise from record to record and stay within the batch; they may have gaps, which compaction leaves. When f
// stopped early the rest is not looked at.
func (b Batch) Each(limit int, f func(r Record) bool) error {
	records, err := b.unpack(limit)
	if err != nil {
		return err
	}
	return b.parse(records, func(r Record, _ []byte) bool { return f(r) })
}

// parse calls f for every record of the batch, whose unpacked bytes are given, and shows it the record's own bytes.
// Otherwise it is Each.
func (b Batch) parse(records []byte, f func(r Record, raw []byte) bool) error {
	p := parser{batch: b, rest: records, lastDelta: -1}
	for i := range b.Count() {
		from := p.rest
		r, ok := p.record()
		if !ok {
			return fmt.Errorf("%w: record %d of %d: %s", ErrBadBatch, i, b.Count(), p.fault)
		}
		if !f(r, from[:len(from)-len(p.rest)]) {
			return nil
		}
	}
	if len(p.rest) > 0 {
		return fmt.Errorf("%w: %d bytes follow the last of %d records", ErrBadBatch, len(p.rest), b.Count())
	}
	return nil
}

// unpack returns the encoded records; they belong to the batch when it is not compressed, whatever the limit.
func (b Batch) unpack(limit int) ([]byte, error) {
	if b.Codec() == NoCodec {
		return b[HeaderSize:], nil
	}
	return b.Codec().Decompress(nil, b[HeaderSize:], limit)
}

// parser reads records off the front of rest:
//
//	varint  length of what follows
//	int8    attributes, unused
//	varlong timestamp - base timestamp of the batch
//	varint  offset - base offset of the batch
//	bytes   key
//	bytes   value
//	varint  number of headers, each: bytes key (not null), bytes value
//
// where bytes is a varint length, -1 for null, and so many bytes. Varints are zigzag.
type parser struct {
	batch     Batch
	rest      []byte
	lastDelta int64
	headers   []Header // of the current record; reused for the next
	fault     string   // why parsing stopped
}

func (p *parser) record() (Record, bool) {
	size, ok := p.varint(math.MinInt32, math.MaxInt32, "length")
	if !ok {
		return Record{}, false
	}
	if size < 0 || size > int64(len(p.rest)) {
		return Record{}, p.fail("length exceeds the batch")
	}
	following := p.rest[size:]
	p.rest = p.rest[:size]
	r, ok := p.fields()
	if ok && len(p.rest) > 0 {
		ok = p.fail("length is larger than the fields")
	}
	p.rest = following
	return r, ok
}

func (p *parser) fields() (r Record, ok bool) {
	if len(p.rest) == 0 {
		return r, p.fail("attributes are cut off")
	}
	p.rest = p.rest[1:]
	timeDelta, ok := p.varint(math.MinInt64, math.MaxInt64, "timestamp")
	if !ok {
		return r, false
	}
	delta, ok := p.varint(p.lastDelta+1, int64(p.batch.LastOffsetDelta()), "offset")
	if !ok {
		return r, false
	}
	p.lastDelta = delta
	r.Offset = p.batch.BaseOffset() + delta
	r.Timestamp = p.batch.BaseTimestamp() + timeDelta
	if p.batch.LogAppendTime() {
		r.Timestamp = p.batch.MaxTimestamp()
	}
	if r.Key, ok = p.bytes("key"); !ok {
		return r, false
	}
	if r.Value, ok = p.bytes("value"); !ok {
		return r, false
	}
	r.Headers, ok = p.allHeaders()
	return r, ok
}

// allHeaders takes the count only as a promise: memory grows with the headers that are there.
func (p *parser) allHeaders() ([]Header, bool) {
	n, ok := p.varint(0, int64(len(p.rest)/2), "header count") // two bytes are the smallest header
	if !ok {
		return nil, false
	}
	p.headers = p.headers[:0]
	for range n {
		key, ok := p.bytes("header key")
		if !ok {
			return nil, false
		}
		if key == nil {
			return nil, p.fail("header key is null")
		}
		value, ok := p.bytes("header value")
		if !ok {
			return nil, false
		}
		p.headers = append(p.headers, Header{string(key), value})
	}
	return p.headers, true
}

// bytes reads a length and so many bytes; nil for null.
func (p *parser) bytes(what string) ([]byte, bool) {
	n, ok := p.varint(-1, int64(len(p.rest)), what)
	if !ok || n < 0 {
		return nil, ok
	}
	if n > int64(len(p.rest)) {
		return nil, p.fail(what + " is cut off")
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b, true
}

func (p *parser) varint(low, high int64, what string) (int64, bool) {
	v, n := binary.Varint(p.rest)
	if n <= 0 || (n > binary.MaxVarintLen32 && high <= math.MaxInt32) {
		return 0, p.fail(what + " is no varint")
	}
	if v < low || v > high {
		return 0, p.fail(fmt.Sprintf("%s is %d, not in [%d, %d]", what, v, low, high))
	}
	p.rest = p.rest[n:]
	return v, true
}

func (p *parser) fail(why string) bool {
	p.fault = why
	return false
}
