package tests

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// A producer sends batches that are wrong: each is refused for its partition alone, with the protocol's error, on a
// connection that stays, and nothing is appended.
func TestBadBatch(t *testing.T) {
	const topic = "bad-batch"
	s := start(t, options(t))
	create(t, client(t, s), topic, 2, nil)
	good := func() []byte { return newBatch(0, nil, time.Now().UnixMilli(), []byte("one"), []byte("two")) }
	put32 := func(at int, v int32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[at:], uint32(v))
			return sealBatch(b)
		}
	}
	cases := []struct {
		name string
		make func(b []byte) []byte
		want []*kerr.Error
	}{
		{"wrong checksum", func(b []byte) []byte { b[posBatchCRC] ^= 1; return b }, corrupt},
		{"changed body", func(b []byte) []byte { b[len(b)-2] ^= 1; return b }, corrupt},
		{"count too high", put32(posBatchCount, 3), invalid},
		{"count too low", put32(posBatchCount, 1), invalid},
		{"count zero", put32(posBatchCount, 0), invalid},
		{"count negative", put32(posBatchCount, -1), invalid},
		{"count huge", put32(posBatchCount, 2_000_000_000), invalid},
		{"last offset too high", put32(posBatchLastDelta, 7), invalid},
		{"last offset negative", put32(posBatchLastDelta, -1), invalid},
		{"offset deltas not in order", func([]byte) []byte { return repeatedOffset() }, invalid},
		{"unknown codec", func(b []byte) []byte { b[posBatchAttributes+1] |= 6; return sealBatch(b) }, codec},
		{"control batch", func(b []byte) []byte { b[posBatchAttributes+1] |= 0x20; return sealBatch(b) }, invalid},
		{"old format", func(b []byte) []byte { b[posBatchMagic] = 1; return sealBatch(b) }, invalid},
		{"future format", func(b []byte) []byte { b[posBatchMagic] = 3; return sealBatch(b) }, invalid},
		{"length too long", put32(posBatchLength, 5000), invalid},
		{"length negative", put32(posBatchLength, -1), invalid},
		{"cut off", func(b []byte) []byte { return b[:len(b)-3] }, invalid},
		{"header cut off", func(b []byte) []byte { return b[:20] }, invalid},
		{"two batches", func(b []byte) []byte { return append(b, good()...) }, invalid},
		{"bytes after the batch", func(b []byte) []byte { return append(b, 1, 2, 3) }, invalid},
		{"no bytes", func([]byte) []byte { return []byte{} }, invalid},
	}
	w := dial(t, s)
	for _, c := range cases {
		bad, fine := produceBoth(t, w, topic, c.make(good()), good())
		if got := kerr.ErrorForCode(bad.ErrorCode); !oneOf(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if fine.ErrorCode != 0 {
			t.Errorf("%s: the good batch for the other partition got %v", c.name, kerr.ErrorForCode(fine.ErrorCode))
		}
	}
	if end := w.listOffset(t, topic, 0, -1).Offset; end != 0 {
		t.Errorf("%d records were appended from bad batches", end)
	}
	if end := w.listOffset(t, topic, 1, -1).Offset; end != int64(2*len(cases)) {
		t.Errorf("the other partition has %d records, want %d", end, 2*len(cases))
	}
	verify(t, s, harness.NewLedger(), topic)
}

// What Kafka answers; where it answers either of two by the place of the fault, both are right.
var (
	corrupt = []*kerr.Error{kerr.CorruptMessage, kerr.InvalidRecord}
	invalid = []*kerr.Error{kerr.InvalidRecord, kerr.CorruptMessage, kerr.UnsupportedForMessageFormat}
	codec   = []*kerr.Error{kerr.UnsupportedCompressionType, kerr.InvalidRecord, kerr.CorruptMessage}
)

func oneOf(err error, all []*kerr.Error) bool {
	for _, e := range all {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// produceBoth sends one request with a batch for each of the partitions 0 and 1.
func produceBoth(t *testing.T, w *wire, topic string, b0, b1 []byte) (p0, p1 kmsg.ProduceResponseTopicPartition) {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{
		{Partition: 0, Records: b0}, {Partition: 1, Records: b1},
	}}}
	got := w.ask(t, 9, req).(*kmsg.ProduceResponse).Topics[0].Partitions
	if len(got) != 2 || got[0].Partition != 0 || got[1].Partition != 1 {
		t.Fatalf("produce: %+v", got)
	}
	return got[0], got[1]
}

// repeatedOffset is a batch whose two records claim the same offset.
func repeatedOffset() []byte {
	b := newBatch(0, nil, time.Now().UnixMilli(), []byte("one"), []byte("two"))
	second := batchHeaderSize + (len(b)-batchHeaderSize)/2
	b[second+3] = 0 // length, attributes, time delta, offset delta
	return sealBatch(b)
}
