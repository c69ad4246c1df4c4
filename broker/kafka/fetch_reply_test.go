package kafka

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/topic"
)

// TestFetchEncoding: what is encoded by hand is what kmsg encodes, in every version.
func TestFetchEncoding(t *testing.T) {
	records := []byte("records")
	a, b := topicKey{name: "a", id: topic.ID{1}}, topicKey{name: "b", id: topic.ID{2}}
	part := func(of topicKey, index int32) sessionPart { return sessionPart{partKey: partKey{of, index}} }
	f := &fetch{session: 77, parts: []fetchPart{
		{
			sessionPart: part(a, 0), bounds: log.Bounds{Start: 1, Stable: 3, Durable: 5, End: 6},
			found: log.Range{Length: 7},
		},
		{sessionPart: part(a, 1), err: topic.ErrNotFound},
		{sessionPart: part(b, 7), bounds: log.Bounds{Start: 2, Stable: 2, Durable: 2, End: 2}},
		{sessionPart: part(a, 2), bounds: log.Bounds{Start: 2, Stable: 2, Durable: 2, End: 2}},
	}}
	for _, isolation := range []topic.Isolation{topic.ReadUncommitted, topic.ReadCommitted} {
		for version := int16(4); version <= 18; version++ {
			e := fetchEncoder{version: version}
			f.isolation = isolation
			e.response(f)
			var got []byte
			from := 0
			for _, cut := range e.cuts {
				got = append(append(got, e.b[from:cut.at]...), records...)
				from = cut.at
			}
			got = append(got, e.b[from:]...)
			if want := encodedByKmsg(f, version, records); !bytes.Equal(got, want) {
				t.Errorf("version %d, isolation %d:\n got %x\nwant %x", version, isolation, got, want)
			}
		}
	}
}

func encodedByKmsg(f *fetch, version int16, records []byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.SessionID = version, f.session
	for _, part := range f.parts {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode = part.index, codeOf(part.err)
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		if part.err == nil {
			p.HighWatermark, p.LastStableOffset = part.bounds.Durable, part.bounds.Stable
			p.LogStartOffset = part.bounds.Start
		}
		if f.isolation == topic.ReadCommitted {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		p.RecordBatches = records[:part.found.Length:part.found.Length]
		if part.found.Length == 0 {
			p.RecordBatches = []byte{}
		}
		if n := len(resp.Topics); n == 0 || resp.Topics[n-1].TopicID != part.id {
			t := kmsg.NewFetchResponseTopic()
			t.Topic, t.TopicID = part.name, part.id
			resp.Topics = append(resp.Topics, t)
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return resp.AppendTo(nil)
}
