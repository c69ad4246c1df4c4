package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/log/vfs"
)

func TestProduceVersions(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 2, nil)
	c := ts.dial()
	for version := int16(3); version <= 13; version++ {
		resp := ask[*kmsg.ProduceResponse](c, produceTo(version, to, 1, batchOf(t, "a", "b")))
		p := resp.Topics[0].Partitions[0]
		if want := int64(version-3) * 2; p.ErrorCode != 0 || p.Partition != 1 || p.BaseOffset != want || p.LogAppendTime != -1 {
			t.Errorf("version %d: %+v, want offset %d", version, p, want)
		}
		if version >= 13 && resp.Topics[0].TopicID != to.ID() {
			t.Errorf("version %d: answered for topic %x", version, resp.Topics[0].TopicID)
		}
	}
	if in := to.Stats().RecordsIn.Load(); in != 22 {
		t.Errorf("%d records were counted, want 22", in)
	}
}

func TestProduceErrors(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, map[string]string{"max.message.bytes": "1000"})
	good := func() []byte { return batchOf(t, "value") }
	changed := func(at int, to byte) []byte { b := good(); b[at] = to; return b }
	zstd := log.Builder{Codec: log.Zstd}
	zstd.Add(log.Record{Value: []byte("v")})
	packed := built(t, &zstd)
	request := func(version int16, records []byte) *kmsg.ProduceRequest { return produceTo(version, to, 0, records) }
	acks, unknown, unknownID, txn := request(9, good()), request(9, good()), request(13, good()), request(9, good())
	acks.Acks = 2
	unknown.Topics[0].Topic = "nowhere"
	unknownID.Topics[0].TopicID[0] ^= 1
	txn.TransactionID = kmsg.StringPtr("x")
	tests := []struct {
		name string
		req  *kmsg.ProduceRequest
		want int16
	}{
		{"null", request(9, nil), codeInvalidRecord},
		{"empty", request(9, []byte{}), codeInvalidRecord},
		{"half a batch", request(9, good()[:65]), codeInvalidRecord},
		{"two batches", request(9, append(good(), good()...)), codeInvalidRecord},
		{"magic 1", request(9, changed(16, 1)), codeInvalidRecord},
		{"flipped bit", request(9, changed(66, 'X')), codeCorruptMessage},
		{"too large", request(9, batchOf(t, string(make([]byte, 2000)))), codeMessageTooLarge},
		{"zstd to an old client", request(6, packed), codeUnsupportedCompressionType},
		{"acks 2", acks, codeInvalidRequiredAcks},
		{"unknown topic", unknown, codeUnknownTopicOrPartition},
		{"unknown partition", produceTo(9, to, 1, good()), codeUnknownTopicOrPartition},
		{"unknown id", unknownID, codeUnknownTopicID},
		{"transaction", txn, codeTransactionalIDDenied},
	}
	c := ts.dial() // one connection: none of these closes it
	for _, test := range tests {
		p := ask[*kmsg.ProduceResponse](c, test.req).Topics[0].Partitions[0]
		if p.ErrorCode != test.want || p.BaseOffset != -1 {
			t.Errorf("%s: error %d, offset %d, want error %d", test.name, p.ErrorCode, p.BaseOffset, test.want)
		}
		if test.req.Version >= 8 && p.ErrorMessage == nil {
			t.Errorf("%s: no message", test.name)
		}
	}
	if offset := c.produce(to, 0, good()); offset != 0 {
		t.Errorf("the first good batch is at %d: something was appended before", offset)
	}
}

// TestProduceNamesBadRecords: a batch is refused for the records without a key, and only those are named (KIP-467).
func TestProduceNamesBadRecords(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, map[string]string{"cleanup.policy": "compact"})
	var b log.Builder
	for i := range 10 {
		r := log.Record{Value: []byte("v"), Key: []byte("k")}
		if i%4 == 1 {
			r.Key = nil
		}
		b.Add(r)
	}
	batch := built(t, &b)
	c := ts.dial()
	for version := int16(8); version <= 13; version++ {
		p := ask[*kmsg.ProduceResponse](c, produceTo(version, to, 0, batch)).Topics[0].Partitions[0]
		var bad []int32
		for _, r := range p.ErrorRecords {
			bad = append(bad, r.RelativeOffset)
			if r.ErrorMessage == nil {
				t.Errorf("version %d: record %d has no message", version, r.RelativeOffset)
			}
		}
		if p.ErrorCode != codeInvalidRecord || p.ErrorMessage == nil || !slices.Equal(bad, []int32{1, 5, 9}) {
			t.Errorf("version %d: error %d, records %v", version, p.ErrorCode, bad)
		}
	}
	keyed := &log.Builder{}
	keyed.Add(log.Record{Key: []byte("k")})
	if offset := c.produce(to, 0, built(t, keyed)); offset != 0 {
		t.Errorf("the first good batch is at %d: something was appended before", offset)
	}
}

// TestProducePipelined: batches are appended and answered in the order of the requests.
func TestProducePipelined(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, nil)
	c := ts.dial()
	const n = 50
	req := produceTo(9, to, 0, batchOf(t, "v"))
	for range n {
		c.send(req)
	}
	for i := range int64(n) {
		p := c.receive(req, int32(i+1)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.BaseOffset != i {
			t.Fatalf("answer %d: error %d, offset %d", i, p.ErrorCode, p.BaseOffset)
		}
	}
}

// TestProduceTwice: a repeated batch gets the answer of the first one.
func TestProduceTwice(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, nil)
	c := ts.dial()
	id := ask[*kmsg.InitProducerIDResponse](c, kmsg.NewPtrInitProducerIDRequest())
	if id.ErrorCode != 0 || id.ProducerEpoch != 0 {
		t.Fatalf("%+v", id)
	}
	batch := func(sequence int32) log.Batch {
		b := log.Builder{Idempotent: true, ProducerID: id.ProducerID, BaseSequence: sequence}
		b.Add(log.Record{Value: []byte("v")})
		return built(t, &b)
	}
	first := c.produce(to, 0, batch(0))
	if again := c.produce(to, 0, batch(0)); again != first {
		t.Errorf("repeated batch is at %d, want %d", again, first)
	}
	if p := ask[*kmsg.ProduceResponse](c, produceTo(9, to, 0, batch(7))).Topics[0].Partitions[0]; p.ErrorCode !=
		codeOutOfOrderSequence {
		t.Errorf("sequence 7 after 0: error %d", p.ErrorCode)
	}
}

func TestProduceWithoutAnswer(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, nil)
	c := ts.dial()
	req := produceTo(9, to, 0, batchOf(t, "v"))
	req.Acks = 0
	c.send(req)
	if offset := c.produce(to, 0, batchOf(t, "w")); offset != 1 {
		t.Errorf("the second batch is at %d", offset)
	}
	req.Topics[0].Topic = "nowhere"
	c.send(req)
	c.wantClosed()
}

func TestLogAppendTime(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	to := ts.create("t", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	p := ask[*kmsg.ProduceResponse](ts.dial(), produceTo(9, to, 0, batchOf(t, "v"))).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.LogAppendTime < 1_700_000_000_000 {
		t.Errorf("%+v", p)
	}
}

func TestTransactionalProducersAreRefused(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID = kmsg.StringPtr("x")
	if resp := ask[*kmsg.InitProducerIDResponse](ts.dial(), req); resp.ErrorCode != codeTransactionalIDDenied {
		t.Errorf("error %d", resp.ErrorCode)
	}
}

func TestProducerIDsDiffer(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	var ids []int64
	for range 10 {
		ids = append(ids, ask[*kmsg.InitProducerIDResponse](c, kmsg.NewPtrInitProducerIDRequest()).ProducerID)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 10 {
		t.Errorf("repeated producer ids: %v", ids)
	}
}
