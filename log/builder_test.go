package log

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

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
