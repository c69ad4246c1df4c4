package kafka

import (
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/producer"
)

// maxGrowth is how many times its frame a decoded request may take, apart from a constant.
const maxGrowth = 64

// FuzzRequest feeds frames to the header and body decoders of every request served. Invariants: nothing panics, a
// frame is decoded or refused, and no more memory is taken than maxGrowth times the part of the frame that is decoded.
func FuzzRequest(f *testing.F) {
	for _, a := range table() {
		for version := a.min; version <= a.max; version++ {
			req := kmsg.RequestForKey(a.key)
			req.SetVersion(version)
			frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 1)
			f.Add(a.key, version, frame[preludeSize:])
		}
	}
	s := New(Options{Budget: producer.NewBudget(1 << 20)})
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		if len(frame) < minFrame-preludeSize+4 {
			return
		}
		a, err := s.lookup(prelude{size: int32(len(frame) + 4), key: key, version: version})
		if err != nil || version < 0 || version > a.max {
			return
		}
		r := &request{api: a, version: version}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = r.decode(frame)
		runtime.ReadMemStats(&after)
		limit := uint64(64<<10 + maxGrowth*len(frame))
		if took := after.TotalAlloc - before.TotalAlloc; took > limit {
			t.Errorf("%s version %d: %d bytes of frame took %d bytes", a.name, version, len(frame), took)
		}
		if err == nil && r.body == nil {
			t.Error("neither decoded nor refused")
		}
	})
}

// FuzzRecordBytes: the walk over a Produce request agrees with its decoder. Invariants: never panics; where the decoder
// accepts a body, the walk does so too and counts the same bytes of records.
func FuzzRecordBytes(f *testing.F) {
	for version := int16(3); version <= 13; version++ {
		f.Add(version, produceBody(version, []byte("some records"), nil, []byte("more")))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 || len(body) > 1<<16 {
			return
		}
		n, ok := recordBytes(body, version)
		req := kmsg.NewPtrProduceRequest()
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return
		}
		want := int64(0)
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				want += int64(len(p.Records))
			}
		}
		if !ok || n != want {
			t.Errorf("version %d: %d bytes (%v), want %d: %x", version, n, ok, want, body)
		}
	})
}

func produceBody(version int16, records ...[]byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(version)
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t"}}
	for i, r := range records {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), r
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	return req.AppendTo(nil)
}
