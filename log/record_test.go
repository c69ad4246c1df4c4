package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
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
