package tests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// killsEnv is the number of kills of TestKillLoop; unset, 20, or 3 with -short.
const killsEnv = "BROKERD_TEST_KILLS"

// The broker is killed at random moments under load, and started again on the same data. Every acknowledged record is
// there at its offset, idempotent producers leave no duplicate, and a group resumes at what it committed.
func TestKillLoop(t *testing.T) {
	const topic, partitions, group = "kill-loop", 4, "kill-loop"
	kills := killCount(t)
	s := start(t, options(t, fastRetention, fastGroups))
	setup := client(t, s)
	create(t, setup, topic, partitions, settings{"segment.bytes": smallSegment})
	setup.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ledger := harness.NewLedger()
	finishProducers := produceAlways(t, ctx, s, ledger, topic, partitions)
	reader := consumeAlways(t, ctx, s, group, topic)

	random := rand.New(rand.NewPCG(uint64(kills), 7))
	for i := range kills {
		before, enough := ledger.Len(), 50+random.IntN(1500)
		eventually(t, 60*time.Second, "the producers go on", func() bool { return ledger.Len() >= before+enough })
		floor := reader.committed()
		kill(t, s)
		s = start(t, s.Again())
		checkCommitted(t, s, group, topic, floor)
		if t.Failed() {
			t.Fatalf("after kill %d of %d", i+1, kills)
		}
		if (i+1)%10 == 0 {
			t.Logf("%d of %d kills, %d records acknowledged", i+1, kills, ledger.Len())
		}
	}
	finishProducers()
	read := verify(t, s, ledger, topic)
	report(t, harness.Duplicates(read, faultLimit))
	t.Logf("%d kills: %d records acknowledged, %d read back", kills, ledger.Len(), len(read))

	eventually(t, 60*time.Second, "the group has read all", func() bool { return reader.count() >= len(read) })
	cancel()
	report(t, ledger.Check(reader.finish(), faultLimit))
}

// fastGroups shortens the wait for more members of a new group.
const fastGroups = "BROKERD_GROUP_INITIAL_REBALANCE_DELAY=100ms"

func killCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(killsEnv)
	if text == "" {
		if testing.Short() {
			return 3
		}
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", killsEnv, err)
	}
	return n
}

// produceAlways runs idempotent producers until finish is called. Finish waits for all answers.
func produceAlways(t *testing.T, ctx context.Context, s *harness.Server, ledger *harness.Ledger, topic string, partitions int32) (finish func()) {
	t.Helper()
	stopping := make(chan struct{})
	var group sync.WaitGroup
	for id := range 3 {
		cl := client(t, s, kgo.RetryTimeout(2*time.Minute), kgo.ProducerLinger(time.Millisecond),
			kgo.MaxBufferedRecords(2000), kgo.ProducerBatchMaxBytes(32<<10))
		m := newMaker(byte(100 + id))
		group.Go(func() {
			for i := int32(0); ; i++ {
				select {
				case <-stopping:
					if err := cl.Flush(ctx); err != nil {
						t.Errorf("producer %d: flush: %v", id, err)
					}
					return
				default:
				}
				r := m.records(topic, i%partitions, 1, 200)[0]
				r.Value = fmt.Appendf(nil, "%d.%s", id, r.Value)
				cl.Produce(ctx, r, func(r *kgo.Record, err error) {
					if err == nil {
						err = ledger.Ack(r)
					}
					if err != nil {
						t.Errorf("producer %d: %v", id, err)
					}
				})
			}
		})
	}
	return func() {
		close(stopping)
		group.Wait()
	}
}

// reader consumes in a group and commits what it has read.
type reader struct {
	cl    *kgo.Client
	group sync.WaitGroup

	mu   sync.Mutex
	read map[harness.Position]*kgo.Record // guarded by mu
	sure map[int32]int64                  // partition -> offset whose commit was answered; guarded by mu
}

func consumeAlways(t *testing.T, ctx context.Context, s *harness.Server, group, topic string) *reader {
	t.Helper()
	r := &reader{read: map[harness.Position]*kgo.Record{}, sure: map[int32]int64{}}
	r.cl = client(t, s, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(500*time.Millisecond))
	r.group.Go(func() {
		for ctx.Err() == nil {
			fetches := r.cl.PollFetches(ctx)
			fetches.EachError(func(_ string, p int32, err error) {
				if !errors.Is(err, context.Canceled) {
					t.Logf("the group's reader, partition %d: %v", p, err)
				}
			})
			r.keep(fetches.Records())
			r.commit(ctx)
		}
	})
	return r
}

func (r *reader) keep(records []*kgo.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range records {
		r.read[harness.Position{Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset}] = rec
	}
}

// commit commits everything that was read, and notes it when it was answered.
func (r *reader) commit(ctx context.Context) {
	heads := r.cl.UncommittedOffsets()
	if len(heads) == 0 || r.cl.CommitUncommittedOffsets(ctx) != nil {
		return
	}
	done := r.cl.CommittedOffsets()
	r.mu.Lock()
	defer r.mu.Unlock()
	for topic, partitions := range heads {
		for p, head := range partitions {
			if done[topic][p].Offset >= head.Offset {
				r.sure[p] = max(r.sure[p], head.Offset)
			}
		}
	}
}

// committed is a copy of what was surely committed.
func (r *reader) committed() map[int32]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.sure)
}

func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.read)
}

// finish waits for the reader, whose context was cancelled, and returns all records that it saw.
func (r *reader) finish() []*kgo.Record {
	r.group.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.read))
}

// checkCommitted compares the group's offsets with what was committed before a crash: at or after it.
func checkCommitted(t *testing.T, s *harness.Server, group, topic string, floor map[int32]int64) {
	t.Helper()
	stored, err := kadm.NewClient(client(t, s)).FetchOffsets(limited(t, 30*time.Second), group)
	if err != nil {
		t.Fatalf("fetch the group's offsets: %v", err)
	}
	for p, want := range floor {
		if got, _ := stored.Lookup(topic, p); got.At < want {
			t.Errorf("partition %d: the group is at %d after the restart, and had committed %d", p, got.At, want)
		}
	}
}
