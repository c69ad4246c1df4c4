package kafka

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/producer"
	"brokerd/topic"
)

// data is what a broker keeps in a directory, open for a test.
type data struct {
	topics *topic.Registry
	ids    *producer.IDs
	close  func()
}

// openData opens the data in dir on fs until close is called or the test ends.
func openData(t *testing.T, fs vfs.FS, dir string) data {
	t.Helper()
	if err := fs.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(dir, "meta"), 0o600, &bbolt.Options{NoSync: true}) // on the real one always
	if err != nil {
		t.Fatal(err)
	}
	ids, err := producer.OpenIDs(db)
	if err != nil {
		t.Fatal(err)
	}
	committer := log.NewCommitter(log.CommitterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); committer.Run(ctx) }()
	topics, err := topic.Open(ctx, topic.Options{
		DB: db, FS: fs, Dir: dir, Committer: committer, Files: log.NewFiles(100), Logger: zerolog.Nop(),
		Defaults: topic.Defaults{Partitions: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := data{topics: topics, ids: ids}
	d.close = sync.OnceFunc(func() {
		topics.Close()
		cancel()
		<-done
		db.Close()
	})
	t.Cleanup(d.close)
	return d
}

// startBroker serves topics on fs until the test ends.
func startBroker(t *testing.T, fs vfs.FS, o Options) *testServer {
	t.Helper()
	d := openData(t, fs, t.TempDir())
	o.Topics, o.IDs = d.topics, d.ids
	return startServer(t, o)
}

// create makes a topic.
func (ts *testServer) create(name string, partitions int32, settings map[string]string) *topic.Topic {
	ts.t.Helper()
	made, err := ts.topics.Create(topic.Spec{Name: name, Partitions: partitions, Settings: settings})
	if err != nil {
		ts.t.Fatal(err)
	}
	return made
}

// batchOf makes a batch with a record of each value, at time 1000.
func batchOf(t *testing.T, values ...string) log.Batch {
	t.Helper()
	var b log.Builder
	for _, v := range values {
		b.Add(log.Record{Timestamp: 1000, Value: []byte(v)})
	}
	return built(t, &b)
}

func built(t *testing.T, b *log.Builder) log.Batch {
	t.Helper()
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// produceTo makes a request with one partition, by name and by id.
func produceTo(version int16, to *topic.Topic, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	req.Topics = []kmsg.ProduceRequestTopic{{
		Topic: to.Name(), TopicID: to.ID(), Partitions: []kmsg.ProduceRequestTopicPartition{p},
	}}
	return req
}

// produce sends a batch, which must be accepted, and returns its base offset.
func (c *client) produce(to *topic.Topic, partition int32, records []byte) int64 {
	c.t.Helper()
	resp := ask[*kmsg.ProduceResponse](c, produceTo(9, to, partition, records))
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("produce: error %d: %s", p.ErrorCode, *p.ErrorMessage)
	}
	return p.BaseOffset
}

// fetchFrom makes a request for partitions of one topic, from the given offsets of partitions 0, 1, ...
func fetchFrom(version int16, from *topic.Topic, offsets ...int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = version, 0, 1, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = from.Name(), from.ID()
	for i, offset := range offsets {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(i), offset, 1<<20
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// valuesOf returns the values in fetched records, whole batches only.
func valuesOf(t *testing.T, records []byte) []string {
	t.Helper()
	values := []string{}
	for len(records) > 0 {
		b, rest, err := log.ParseBatch(records)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.CheckCRC(); err != nil {
			t.Error(err)
		}
		if err := b.Each(1<<20, func(r log.Record) bool { values = append(values, string(r.Value)); return true }); err != nil {
			t.Error(err)
		}
		records = rest
	}
	return values
}

// within fails the test when f takes longer than limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
}
