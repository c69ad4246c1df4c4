package tests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// faultLimit bounds the lines that one comparison prints.
const faultLimit = 10

// limited is a context that ends with the test, or after d.
func limited(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// client connects franz-go to a broker.
func client(t *testing.T, s *harness.Server, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.Kafka),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryTimeout(20 * time.Second),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// settings are a topic's, by name.
type settings map[string]string

// create makes a topic.
func create(t *testing.T, cl *kgo.Client, topic string, partitions int32, s settings) {
	t.Helper()
	configs := map[string]*string{}
	for k, v := range s {
		configs[k] = kadm.StringPtr(v)
	}
	if _, err := kadm.NewClient(cl).CreateTopic(limited(t, 30*time.Second), partitions, 1, configs, topic); err != nil {
		t.Fatalf("create topic %s: %v", topic, err)
	}
}

// publish produces records, waits for all answers and enters them into the ledger.
func publish(t *testing.T, cl *kgo.Client, ledger *harness.Ledger, records ...*kgo.Record) {
	t.Helper()
	for _, result := range cl.ProduceSync(limited(t, 90*time.Second), records...) {
		if result.Err != nil {
			t.Fatalf("produce to %s/%d: %v", result.Record.Topic, result.Record.Partition, result.Err)
		}
		if err := ledger.Ack(result.Record); err != nil {
			t.Fatal(err)
		}
	}
}

// publishBatch produces records of one partition in one batch.
func publishBatch(t *testing.T, cl *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	ctx := limited(t, 30*time.Second)
	failed := make(chan error, len(records))
	for _, r := range records {
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) { failed <- err })
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		if r.Offset != records[0].Offset+int64(i) {
			t.Fatalf("record %d got offset %d after %d", i, r.Offset, records[0].Offset)
		}
	}
}

// verify reads topics to their ends and compares them with the ledger. It returns what it read.
func verify(t *testing.T, s *harness.Server, ledger *harness.Ledger, topics ...string) []*kgo.Record {
	t.Helper()
	read, err := harness.ReadAll(limited(t, 90*time.Second), s.Kafka, topics...)
	if err != nil {
		t.Fatal(err)
	}
	report(t, ledger.Check(read, faultLimit))
	return read
}

// maker makes records that all differ and do not compress well.
type maker struct {
	mu     sync.Mutex
	random *rand.ChaCha8
	next   int
}

func newMaker(seed byte) *maker {
	return &maker{random: rand.NewChaCha8([32]byte{seed})}
}

// records makes n records of size bytes for one partition.
func (m *maker) records(topic string, partition int32, n, size int) []*kgo.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*kgo.Record, n)
	for i := range all {
		value := fmt.Appendf(make([]byte, 0, size), "%d.%d ", m.next, partition)
		m.next++
		text := len(value)
		value = value[:max(size, text)]
		m.random.Read(value[text:])
		all[i] = &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "key-%d", i%97), Value: value}
	}
	return all
}
