package kafka

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.etcd.io/bbolt"

	"brokerd/consumer"
	"brokerd/log/vfs"
)

// startConsumers serves topics and groups whose members send a heartbeat every 50 milliseconds.
func startConsumers(t *testing.T) *testServer {
	t.Helper()
	d := openData(t, vfs.OS{}, t.TempDir())
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "groups.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	s := consumer.DefaultSettings()
	s.InitialDelay, s.ConsumerHeartbeat = 0, 50*time.Millisecond
	groups, err := consumer.Open(consumer.Options{
		DB: db, Topics: consumer.RegistryTopics(d.topics), Settings: s, Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- groups.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		db.Close()
	})
	return startServer(t, Options{Topics: d.topics, IDs: d.ids, Groups: groups})
}

// crowd is the members of one group, and what they have read.
type crowd struct {
	ts   *testServer
	opts []kgo.Opt

	mu   sync.Mutex
	read map[string]int // by value: how often
}

// enter starts a member, which reads until it leaves.
func (c *crowd) enter(opts ...kgo.Opt) (leave func()) {
	c.ts.t.Helper()
	cl := c.ts.franz(append(slices.Clone(c.opts), opts...)...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			fetches := cl.PollFetches(context.Background())
			c.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { c.read[string(r.Value)]++ })
			c.mu.Unlock()
			cl.AllowRebalance()
			if fetches.IsClientClosed() {
				return
			}
		}
	}()
	leave = sync.OnceFunc(func() {
		cl.CloseAllowingRebalance()
		<-ended
	})
	c.ts.t.Cleanup(leave)
	return leave
}

// await polls until ok, or fails.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// TestFranzConsumerGroup: three members of a group in which the broker assigns come and go while a producer writes.
// Everything is read; the partitions are shared evenly; a new topic that matches the subscription is read too.
func TestFranzConsumerGroup(t *testing.T) {
	ts := startConsumers(t)
	ts.create("orders.a", 12, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	adm := kadm.NewClient(ts.franz())
	c := &crowd{ts: ts, read: map[string]int{}, opts: []kgo.Opt{
		kgo.ConsumerGroup("g"), kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()),
		kgo.ConsumeRegex(), kgo.ConsumeTopics("orders\\..*"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.BlockRebalanceOnPoll(), kgo.AutoCommitInterval(100 * time.Millisecond),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.MetadataMaxAge(200 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
	}}
	written := 0
	write := func(topic string) {
		t.Helper()
		producer := ts.franz(kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		for range 20 {
			var records []*kgo.Record
			for range 10 {
				records = append(records, kgo.StringRecord(fmt.Sprint(written)))
				written++
			}
			if err := producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	shares := func(want ...int) func() bool {
		return func() bool {
			d, err := adm.DescribeConsumerGroups(ctx, "g")
			if err != nil || d["g"].Err != nil || d["g"].State != "Stable" {
				return false
			}
			var got []int
			for _, m := range d["g"].Members {
				n := 0
				for _, tp := range m.Assignment {
					n += len(tp)
				}
				got = append(got, n)
			}
			slices.Sort(got)
			return slices.Equal(got, want)
		}
	}
	first := c.enter()
	await(t, "the first member to have everything", shares(12))
	write("orders.a")
	second := c.enter()
	write("orders.a")
	await(t, "two members to share", shares(6, 6))
	c.enter()
	await(t, "three members to share", shares(4, 4, 4))
	first()
	write("orders.a")
	await(t, "two members to share after one left", shares(6, 6))
	ts.create("orders.b", 4, nil)
	write("orders.b")
	await(t, "the new topic to be shared", shares(8, 8))
	second()
	await(t, "the last member to have everything", shares(16))
	await(t, "everything to be read", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.read) == written
	})
}
