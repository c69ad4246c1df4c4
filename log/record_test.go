package log

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

const testLimit = 1 << 20

var codecs = []Codec{NoCodec, Gzip, Snappy, LZ4, Zstd}

// awkward holds each distinction that the record format makes.
var awkward = []Record{
	{Timestamp: 1_700_000_000_000, Key: []byte("key"), Value: []byte("value")},
	{Timestamp: 1_700_000_000_005},
	{Timestamp: 1_600_000_000_000, Key: []byte{}, Value: []byte{}},
	{Timestamp: 1_700_000_000_001, Value: bytes.Repeat([]byte("long "), 1000)},
	{Timestamp: 1_700_000_000_002, Key: []byte("k"), Headers: []Header{
		{"name", []byte("value")}, {"name", []byte("again")}, {"empty", []byte{}}, {"null", nil}, {"", []byte("no name")},
	}},
	{Timestamp: 1_700_000_000_003, Value: []byte("after headers")},
}

func build(t testing.TB, b *Builder, records ...Record) Batch {
	t.Helper()
	for _, r := range records {
		b.Add(r)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func all(t testing.TB, b Batch) []Record {
	t.Helper()
	var records []Record
	if err := b.Each(testLimit, func(r Record) bool { records = append(records, cloned(r)); return true }); err != nil {
		t.Fatal(err)
	}
	return records
}

func cloned(r Record) Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	headers := r.Headers
	r.Headers = nil
	for _, h := range headers {
		r.Headers = append(r.Headers, Header{h.Key, bytes.Clone(h.Value)})
	}
	return r
}

// numbered gives records the offsets that they have in a batch at base.
func numbered(records []Record, base int64) []Record {
	records = append([]Record(nil), records...)
	for i := range records {
		records[i].Offset = base + int64(i)
	}
	return records
}

func TestBuildGolden(t *testing.T) {
	b := build(t, &Builder{Idempotent: true, ProducerID: 0x0102, ProducerEpoch: 3, BaseSequence: 4},
		Record{Timestamp: 1000, Key: []byte("k"), Value: []byte("v")},
		Record{Timestamp: 999, Headers: []Header{{"h", nil}}})
	want := strings.Join([]string{
		"0000000000000000", // base offset
		"00000044",         // length
		"ffffffff",         // leader epoch
		"02",               // magic
		"98089d6d",         // crc
		"0000",             // attributes
		"00000001",         // last offset delta
		"00000000000003e8", // base timestamp
		"00000000000003e8", // max timestamp
		"0000000000000102", // producer id
		"0003",             // producer epoch
		"00000004",         // base sequence
		"00000002",         // count
		"10" + "00" + "00" + "00" + "026b" + "0276" + "00",
		"12" + "00" + "01" + "02" + "01" + "01" + "02" + "0268" + "01",
	}, "")
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("bytes are\n%s, want\n%s", got, want)
	}
}

// An independent codec reads what the Builder writes.
func TestBuildForOthers(t *testing.T) {
	b := build(t, &Builder{}, awkward...)
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	if int(batch.NumRecords) != len(awkward) || int(batch.LastOffsetDelta) != len(awkward)-1 || batch.Magic != 2 ||
		batch.FirstTimestamp != awkward[0].Timestamp || batch.MaxTimestamp != awkward[1].Timestamp ||
		batch.ProducerID != -1 || batch.ProducerEpoch != -1 || batch.FirstSequence != -1 {
		t.Errorf("header: %+v", batch)
	}
	if sum := crc32.Checksum(b[posAttributes:], crc32.MakeTable(crc32.Castagnoli)); uint32(batch.CRC) != sum {
		t.Errorf("CRC %08x, want %08x", batch.CRC, sum)
	}
	rest := batch.Records
	for i, want := range awkward {
		size, n := binary.Varint(rest)
		var r kmsg.Record
		if err := r.ReadFrom(rest[:n+int(size)]); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		rest = rest[n+int(size):]
		got := Record{Timestamp: batch.FirstTimestamp + r.TimestampDelta64, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			got.Headers = append(got.Headers, Header(h))
		}
		if int(r.OffsetDelta) != i || !reflect.DeepEqual(got, want) {
			t.Errorf("record %d is %+v, want %+v", i, got, want)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes follow", len(rest))
	}
}

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

func TestEachReadsOthers(t *testing.T) {
	b := kmsgBatch(func(b *kmsg.RecordBatch) { b.FirstOffset, b.FirstTimestamp, b.MaxTimestamp = 7, 100, 105 },
		kmsg.Record{Key: []byte("k"), TimestampDelta64: 5},
		kmsg.Record{Value: []byte("v"), TimestampDelta64: -1, Headers: []kmsg.Header{{Key: "h", Value: []byte{}}, {Key: "n"}}})
	want := []Record{
		{Offset: 7, Timestamp: 105, Key: []byte("k")},
		{Offset: 8, Timestamp: 99, Value: []byte("v"), Headers: []Header{{"h", []byte{}}, {"n", nil}}},
	}
	if got := all(t, b); !reflect.DeepEqual(got, want) {
		t.Errorf("records are %+v, want %+v", got, want)
	}
	b.SetLogAppendTime(time.UnixMilli(5000))
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
	for _, r := range all(t, b) {
		if r.Timestamp != 5000 {
			t.Errorf("time of offset %d is %d", r.Offset, r.Timestamp)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			b := build(t, &Builder{Codec: codec}, awkward...)
			if err := CheckBatch(b, true, testLimit); err != nil {
				t.Fatal(err)
			}
			if b.Codec() != codec {
				t.Errorf("codec is %s", b.Codec())
			}
			b.setPlace(1<<40, 3)
			if got, want := all(t, b), numbered(awkward, 1<<40); !reflect.DeepEqual(got, want) {
				t.Errorf("records are %+v, want %+v", got, want)
			}
			for _, other := range codecs {
				again, err := b.Recompress(other, testLimit)
				if err != nil {
					t.Fatal(err)
				}
				if again.Codec() != other || again.CheckCRC() != nil || again.Size() != int64(len(again)) {
					t.Errorf("to %s: header is wrong", other)
				}
				if got, want := all(t, again), all(t, b); !reflect.DeepEqual(got, want) {
					t.Errorf("to %s: records are %+v, want %+v", other, got, want)
				}
			}
		})
	}
}

func TestRoundTripProperty(t *testing.T) {
	maybeBytes := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()))
	record := rapid.Custom(func(t *rapid.T) Record {
		r := Record{Timestamp: rapid.Int64().Draw(t, "time"), Key: maybeBytes.Draw(t, "key"), Value: maybeBytes.Draw(t, "value")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, Header{rapid.String().Draw(t, "name"), maybeBytes.Draw(t, "header")})
		}
		return r
	})
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.SliceOfN(record, 1, 20).Draw(rt, "records")
		codec := rapid.SampledFrom(codecs).Draw(rt, "codec")
		b := build(t, &Builder{Codec: codec}, records...)
		if err := CheckBatch(b, true, testLimit); err != nil {
			rt.Fatal(err)
		}
		if got, want := all(t, b), numbered(records, 0); !reflect.DeepEqual(got, want) {
			rt.Fatalf("records are %+v, want %+v", got, want)
		}
	})
}

func TestBuilder(t *testing.T) {
	var b Builder
	if _, err := b.Build(); !errors.Is(err, ErrBadBatch) {
		t.Errorf("empty: %v", err)
	}
	first := build(t, &b, awkward...)
	kept := bytes.Clone(first)
	if b.Len() != 0 || b.Size() != 0 {
		t.Errorf("a built builder holds %d records, %d bytes", b.Len(), b.Size())
	}
	second := build(t, &b, Record{Timestamp: 1, Value: []byte("x")})
	if second.Count() != 1 || second.MaxTimestamp() != 1 {
		t.Errorf("second batch: %d records, max time %d", second.Count(), second.MaxTimestamp())
	}
	if !bytes.Equal(first, kept) {
		t.Error("the second batch has changed the first")
	}
	b.Codec = 6
	b.Add(Record{})
	if _, err := b.Build(); !errors.Is(err, ErrBadCodec) {
		t.Errorf("unknown codec: %v", err)
	}
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

func TestEachStops(t *testing.T) {
	b := build(t, &Builder{}, awkward...)
	n := 0
	if err := b.Each(testLimit, func(Record) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d calls, %v", n, err)
	}
}

// Reading an uncompressed batch takes no memory per record, except for names of headers.
func TestEachAllocations(t *testing.T) {
	var b Builder
	for range 1000 {
		b.Add(Record{Key: []byte("key"), Value: []byte("value")})
	}
	batch := build(t, &b)
	n := testing.AllocsPerRun(10, func() { _ = batch.Each(testLimit, func(Record) bool { return true }) })
	if n > 2 {
		t.Errorf("%v allocations for 1000 records", n)
	}
}

func TestParseBatch(t *testing.T) {
	good := build(t, &Builder{}, awkward...)
	two := append(bytes.Clone(good), good...)
	b, rest, err := ParseBatch(two)
	if err != nil || !bytes.Equal(b, good) || !bytes.Equal(rest, good) {
		t.Errorf("two batches: %d and %d bytes, %v", len(b), len(rest), err)
	}
	if cap(b) != len(b) {
		t.Error("an append to the first batch would overwrite the second")
	}
	set := func(pos int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[pos:], b)
		return c
	}
	for name, bad := range map[string][]byte{
		"empty":           nil,
		"cut header":      good[:HeaderSize-1],
		"cut records":     good[:len(good)-1],
		"magic 1":         set(posMagic, 1),
		"length 48":       set(posLength, 0, 0, 0, 48),
		"length -1":       set(posLength, 255, 255, 255, 255),
		"length 2^31 - 1": set(posLength, 127, 255, 255, 255),
		"a byte too long": set(posLength, binary.BigEndian.AppendUint32(nil, uint32(len(good)-lengthPrefix+1))...),
	} {
		if _, _, err := ParseBatch(bad); !errors.Is(err, ErrBadBatch) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSequencesWrap(t *testing.T) {
	b := build(t, &Builder{Idempotent: true, BaseSequence: math.MaxInt32 - 1}, awkward[:4]...)
	if got := fmt.Sprint(b.BaseSequence(), b.LastSequence()); got != "2147483646 1" {
		t.Errorf("sequences are %s", got)
	}
}
