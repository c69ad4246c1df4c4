package log

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsgBatch writes a batch with an independent codec, which derives no field from another.
func kmsgBatch(edit func(b *kmsg.RecordBatch), records ...kmsg.Record) Batch {
	b := kmsg.RecordBatch{Magic: 2, PartitionLeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(len(records)), LastOffsetDelta: int32(len(records) - 1)}
	for i, r := range records {
		r.OffsetDelta += int32(i)
		r.Length = int32(len(r.AppendTo(nil)) - 1) // the length 0 takes one byte
		b.Records = r.AppendTo(b.Records)
	}
	if edit != nil {
		edit(&b)
	}
	b.Length = int32(len(b.AppendTo(nil)) - lengthPrefix)
	batch := Batch(b.AppendTo(nil))
	batch.setCRC()
	return batch
}

func TestCheckBatch(t *testing.T) {
	one := kmsg.Record{Key: []byte("k"), Value: []byte("v")}
	three := func(edit func(b *kmsg.RecordBatch)) Batch { return kmsgBatch(edit, one, one, one) }
	packed := func(codec Codec, records []byte) Batch {
		return three(func(b *kmsg.RecordBatch) {
			b.Attributes = int16(codec)
			b.Records = records
		})
	}
	raw := func(records string) Batch {
		return kmsgBatch(func(b *kmsg.RecordBatch) { b.Records = []byte(records) }, one)
	}
	gzipped := func(records []byte) []byte { return must(Gzip.Compress(nil, records)) }
	good := three(nil)
	badCRC := bytes.Clone(good)
	badCRC[len(badCRC)-1] ^= 1

	for _, c := range []struct {
		name    string
		batch   Batch
		records bool
		want    error
	}{
		{"good", good, false, nil},
		{"good, walked", good, true, nil},
		{"CRC", badCRC, false, ErrBadCRC},
		{"base offset", three(func(b *kmsg.RecordBatch) { b.FirstOffset = 1 }), false, ErrBadBatch},
		{"no records", kmsgBatch(nil), false, ErrBadBatch},
		{"negative count", three(func(b *kmsg.RecordBatch) { b.NumRecords = -1; b.LastOffsetDelta = -2 }), false, ErrBadBatch},
		{"count too small", three(func(b *kmsg.RecordBatch) { b.NumRecords = 2 }), false, ErrBadBatch},
		{"count and delta too small", three(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 2, 1 }), false, ErrBadBatch},
		{"count and delta too large", three(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 4, 3 }), false, ErrBadBatch},
		{"huge count", three(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = math.MaxInt32, math.MaxInt32-1 }), false, ErrBadBatch},
		{"count overflows", three(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = math.MinInt32, math.MaxInt32 }), false, ErrBadBatch},
		{"control", three(func(b *kmsg.RecordBatch) { b.Attributes = attrControl }), false, ErrBadBatch},
		{"producer without sequence", three(func(b *kmsg.RecordBatch) { b.ProducerID = 5 }), false, ErrBadBatch},
		{"producer with sequence", three(func(b *kmsg.RecordBatch) { b.ProducerID, b.FirstSequence = 5, 0 }), false, nil},
		{"transactional", three(func(b *kmsg.RecordBatch) { b.Attributes, b.ProducerID, b.FirstSequence = attrTransactional, 5, 0 }), false, nil},
		{"codec 5", packed(5, nil), false, ErrBadCodec},
		{"codec 7", packed(7, nil), false, ErrBadCodec},
		{"packed garbage, not walked", packed(Gzip, []byte("garbage")), false, nil},
		{"packed garbage", packed(Gzip, []byte("garbage")), true, ErrBadBatch},
		{"packed", packed(Gzip, gzipped(good[HeaderSize:])), true, nil},
		{"packed, a byte more", packed(Gzip, gzipped(append(bytes.Clone(good[HeaderSize:]), 0))), true, ErrBadBatch},
		{"packed, a byte less", packed(Gzip, gzipped(good[HeaderSize:len(good)-1])), true, ErrBadBatch},
		{"packed, too large", packed(Gzip, gzipped(make([]byte, testLimit+1))), true, ErrInflated},
		{"offset skipped", kmsgBatch(nil, one, kmsg.Record{OffsetDelta: 1}, one), false, ErrBadBatch},
		{"offset repeated", kmsgBatch(nil, one, kmsg.Record{OffsetDelta: -1}, one), false, ErrBadBatch},
		{"offset negative", kmsgBatch(nil, kmsg.Record{OffsetDelta: -1}, one, one), false, ErrBadBatch},
		{"trailing bytes", three(func(b *kmsg.RecordBatch) { b.Records = append(b.Records, 0) }), false, ErrBadBatch},
		{"smallest record", raw("\x0c\x00\x00\x00\x01\x01\x00"), false, nil},
		{"length too small", raw("\x0a\x00\x00\x00\x01\x01\x00"), false, ErrBadBatch},
		{"length too large", raw("\x0e\x00\x00\x00\x01\x01\x00"), false, ErrBadBatch},
		{"length longer than the fields", raw("\x0e\x00\x00\x00\x01\x01\x00\x00"), false, ErrBadBatch},
		{"length negative", raw("\x01\x00\x00\x00\x01\x01\x00"), false, ErrBadBatch},
		{"length of 6 bytes", raw("\x8c\x80\x80\x80\x80\x00\x00\x00\x00\x01\x01\x00"), false, ErrBadBatch},
		{"length of 11 bytes", raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false, ErrBadBatch},
		{"empty record", raw("\x00"), false, ErrBadBatch},
		{"only attributes", raw("\x02\x00"), false, ErrBadBatch},
		{"key length -2", raw("\x0c\x00\x00\x00\x03\x01\x00"), false, ErrBadBatch},
		{"key too long", raw("\x0c\x00\x00\x00\x08\x01\x00"), false, ErrBadBatch},
		{"value too long", raw("\x0c\x00\x00\x00\x01\x04\x00"), false, ErrBadBatch},
		{"headers -1", raw("\x0c\x00\x00\x00\x01\x01\x01"), false, ErrBadBatch},
		{"headers 1, none here", raw("\x0c\x00\x00\x00\x01\x01\x02"), false, ErrBadBatch},
		{"headers 2^31-1", raw("\x14\x00\x00\x00\x01\x01\xfe\xff\xff\xff\x0f"), false, ErrBadBatch},
		{"header key null", raw("\x10\x00\x00\x00\x01\x01\x02\x01\x01"), false, ErrBadBatch},
		{"header value cut off", raw("\x10\x00\x00\x00\x01\x01\x02\x00\x04"), false, ErrBadBatch},
		{"smallest header", raw("\x10\x00\x00\x00\x01\x01\x02\x00\x01"), false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, rest, err := ParseBatch(c.batch)
			if err != nil || len(rest) > 0 {
				t.Fatalf("%d bytes follow, %v", len(rest), err)
			}
			err = CheckBatch(b, c.records, testLimit)
			if !errors.Is(err, c.want) || (c.want == nil && err != nil) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
}

func TestRecompressErrors(t *testing.T) {
	plain := build(t, &Builder{}, awkward...)
	packed := build(t, &Builder{Codec: Gzip}, awkward...)
	garbage := bytes.Clone(packed)
	clear(garbage[HeaderSize:])
	for name, c := range map[string]struct {
		batch Batch
		codec Codec
		limit int
		want  error
	}{
		"already packed so":    {packed, Gzip, 0, nil},
		"unknown codec":        {plain, 5, testLimit, ErrBadCodec},
		"unpacks to more":      {packed, NoCodec, 100, ErrInflated},
		"contents are garbage": {garbage, Zstd, testLimit, ErrBadBatch},
		"nothing to unpack":    {plain, Zstd, 0, nil},
	} {
		before := bytes.Clone(c.batch)
		if _, err := c.batch.Recompress(c.codec, c.limit); !errors.Is(err, c.want) || (c.want == nil && err != nil) {
			t.Errorf("%s: error is %v, want %v", name, err, c.want)
		}
		if !bytes.Equal(before, c.batch) {
			t.Errorf("%s: the batch has changed", name)
		}
	}
}
