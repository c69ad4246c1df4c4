package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/log/vfs"
)

func (ts *testServer) franz(opts ...kgo.Opt) *kgo.Client {
	ts.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(ts.addr)}, opts...)...)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(cl.Close)
	return cl
}

// TestFranz: a real client writes with every codec and reads everything back, from the start and from the middle.
func TestFranz(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{AutoCreate: true})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const each = 2000
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	want := make(map[string]bool)
	for name, codec := range codecs {
		cl := ts.franz(kgo.ProducerBatchCompression(codec), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"))
		var records []*kgo.Record
		for i := range each {
			v := fmt.Sprintf("%s-%d", name, i)
			want[v] = true
			records = append(records, kgo.StringRecord(v))
		}
		if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	cl := ts.franz(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	got := make(map[string]bool)
	for len(got) < len(want) {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d records: %v", len(got), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !want[string(r.Value)] || got[string(r.Value)] {
				t.Errorf("unexpected or repeated record %q", r.Value)
			}
			got[string(r.Value)] = true
		})
	}
	middle := ts.franz(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(each + 7)}}))
	fetches := middle.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if r := fetches.Records()[0]; r.Offset != each+7 {
		t.Errorf("reading from offset %d starts at %d", each+7, r.Offset)
	}
}

// TestFranzAdmin: the admin client's view of the requests that tools use.
func TestFranzAdmin(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 3})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	adm := kadm.NewClient(ts.franz())
	if _, err := adm.CreateTopic(ctx, 4, 3, map[string]*string{"retention.ms": kadm.StringPtr("60000")}, "t"); err != nil {
		t.Fatal(err)
	}
	listed, err := adm.ListTopics(ctx)
	if err != nil || len(listed["t"].Partitions) != 4 || listed["t"].Err != nil {
		t.Fatalf("%+v, %v", listed, err)
	}
	meta, err := adm.BrokerMetadata(ctx)
	if err != nil || meta.Controller != 3 || len(meta.Brokers) != 1 {
		t.Errorf("%+v, %v", meta, err)
	}
	configs, err := adm.DescribeTopicConfigs(ctx, "t")
	if err != nil || len(configs) != 1 || configs[0].Err != nil || len(configs[0].Configs) < 20 {
		t.Errorf("%+v, %v", configs, err)
	}
	if resp, err := adm.UpdatePartitions(ctx, 6, "t"); err != nil || resp.Error() != nil {
		t.Errorf("%+v, %v", resp, err)
	}
	ends, err := adm.ListEndOffsets(ctx, "t")
	if err != nil || ends.Error() != nil || len(ends["t"]) != 6 {
		t.Errorf("%+v, %v", ends, err)
	}
	if _, err := adm.ListOffsetsAfterMilli(ctx, time.Now().UnixMilli(), "t"); err != nil {
		t.Error(err)
	}
	if resp, err := adm.DeleteTopics(ctx, "t"); err != nil || resp.Error() != nil {
		t.Errorf("%+v, %v", resp, err)
	}
}
