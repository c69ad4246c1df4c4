package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

// refused says whether an error is one that input from outside may cause.
func refused(err error) bool {
	return errors.Is(err, ErrBadBatch) || errors.Is(err, ErrBadCodec) || errors.Is(err, ErrBadCRC) || errors.Is(err, ErrInflated)
}

// Invariants:
//   - an error is ErrBadBatch, and then nothing is returned;
//   - batch and rest are the input, cut in two;
//   - every getter works, and Size is the length;
//   - CheckBatch returns one of its documented errors.
func FuzzParseBatch(f *testing.F) {
	for _, c := range codecs {
		f.Add([]byte(build(f, &Builder{Codec: c}, awkward...)))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		b, rest, err := ParseBatch(in)
		if err != nil {
			if !errors.Is(err, ErrBadBatch) || b != nil || rest != nil {
				t.Fatalf("%d and %d bytes, %v", len(b), len(rest), err)
			}
			return
		}
		if !bytes.Equal(append(bytes.Clone(b), rest...), in) || b.Size() != int64(len(b)) || len(b) < HeaderSize {
			t.Fatalf("%d bytes are cut into %d and %d, size %d", len(in), len(b), len(rest), b.Size())
		}
		_ = []any{b.BaseOffset(), b.LeaderEpoch(), b.Attributes(), b.Codec().String(), b.LogAppendTime(), b.Transactional(),
			b.Control(), b.LastOffset(), b.BaseTimestamp(), b.MaxTimestamp(), b.ProducerID(), b.ProducerEpoch(), b.LastSequence()}
		b = bytes.Clone(b)
		b.setCRC()
		if err := CheckBatch(b, true, testLimit); err != nil && !refused(err) {
			t.Fatal(err)
		}
	})
}

// Invariants, for any records behind a valid header:
//   - an error is one of the documented ones;
//   - without an error there are as many records as the header says, at rising offsets within the batch;
//   - built again, they are the same records.
func FuzzEach(f *testing.F) {
	for _, c := range codecs {
		b := build(f, &Builder{Codec: c}, awkward...)
		f.Add(uint8(c), b.Count(), []byte(b[HeaderSize:]))
	}
	f.Fuzz(func(t *testing.T, attributes uint8, count int32, records []byte) {
		b := append(build(t, &Builder{}, Record{})[:HeaderSize:HeaderSize], records...)
		b.setLength()
		b.setAttributes(int16(attributes))
		binary.BigEndian.PutUint32(b[posCount:], uint32(count))
		binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(count-1))
		b.setCRC()
		var again Builder
		var seen []Record
		last := int64(-1)
		err := b.Each(testLimit, func(r Record) bool {
			if r.Offset <= last || r.Offset > b.LastOffset() {
				t.Fatalf("offset %d follows %d, the last is %d", r.Offset, last, b.LastOffset())
			}
			last = r.Offset
			again.Add(r)
			seen = append(seen, cloned(r))
			return true
		})
		if err != nil {
			if !refused(err) {
				t.Fatal(err)
			}
			return
		}
		if len(seen) != max(int(count), 0) {
			t.Fatalf("%d records, want %d", len(seen), count)
		}
		if len(seen) > 0 {
			if copied := all(t, build(t, &again)); !reflect.DeepEqual(copied, seen) {
				t.Fatalf("records are %+v, want %+v", copied, seen)
			}
		}
	})
}

// Invariants:
//   - an error is ErrBadBatch, ErrBadCodec or ErrInflated;
//   - the output begins with what was there, and is at most the limit longer;
//   - a larger limit gives the same output.
func FuzzDecompress(f *testing.F) {
	for _, c := range codecs {
		for _, in := range [][]byte{nil, []byte("text"), bytes.Repeat([]byte("text"), 50)} {
			packed, err := c.Compress(nil, in)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(c), packed, uint16(len(in)))
		}
	}
	f.Fuzz(func(t *testing.T, codec uint8, in []byte, limit uint16) {
		out, err := Codec(codec).Decompress([]byte("there"), in, int(limit))
		if err != nil {
			if !refused(err) || out != nil {
				t.Fatalf("%d bytes, %v", len(out), err)
			}
			return
		}
		if !bytes.HasPrefix(out, []byte("there")) || len(out) > len("there")+int(limit) {
			t.Fatalf("%d bytes, limit %d", len(out), limit)
		}
		more, err := Codec(codec).Decompress([]byte("there"), in, testLimit)
		if err != nil || !bytes.Equal(more, out) {
			t.Fatalf("%d bytes become %d with a larger limit, %v", len(out), len(more), err)
		}
	})
}

// Invariants, for any file:
//   - stretches cover the data without holes and lie within it; what follows them is zeros;
//   - offsets rise, and every batch said to be good has a right CRC.
func FuzzWalk(f *testing.F) {
	data, _ := fiveBatches(f)
	f.Add(data, int64(10))
	f.Add(append(bytes.Clone(data[:300]), make([]byte, 100)...), int64(0))
	f.Add(append(bytes.Clone(data), data...), int64(0))
	f.Fuzz(func(t *testing.T, in []byte, low int64) {
		if low < 0 || low > maxBase {
			return // no segment starts there
		}
		checkWalk(t, in, low)
	})
}

// Invariants, for any bytes as a list of erased records:
//   - an error is ErrNewerFormat;
//   - what was read is the same when it is written and read again, and then without damage;
//   - good entries in front of and behind the bytes hold, and nothing is torn.
func FuzzErased(f *testing.F) {
	var s offsetSet
	for _, o := range []int64{0, 63, 64, 5000, 1 << 40} {
		s.add(o)
	}
	f.Add(appendErasures(appendErasedHeader(nil), &s))
	f.Add([]byte("brkebrke"))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := decodeErased(b)
		if err != nil {
			if !errors.Is(err, ErrNewerFormat) {
				t.Fatal(err)
			}
			return
		}
		again, err := decodeErased(appendErasures(appendErasedHeader(nil), &found.set))
		if err != nil || len(again.bad) > 0 || again.torn > 0 || again.set.count != found.set.count {
			t.Fatalf("written again: %+v, %v", again, err)
		}
		again.set.subtract(&found.set)
		if again.set.count != 0 {
			t.Fatal("written again it names other offsets")
		}
		framed := append(appendErasures(appendErasedHeader(nil), &s), b...)
		framed = appendErasures(framed, &s)
		around, err := decodeErased(framed)
		if err != nil || around.torn > 0 {
			t.Fatalf("%d bytes torn before a good entry, %v", around.torn, err)
		}
		for o := range s.all(0, maxBase) {
			if !around.set.has(o) {
				t.Fatalf("the entry of %d does not hold", o)
			}
		}
	})
}
