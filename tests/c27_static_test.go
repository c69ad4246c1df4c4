package tests

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// C27: two members come with one instance id. The older one is fenced, and nobody else notices. A kill and a start of the
// broker fence nobody.
func TestC27Twins(t *testing.T) {
	t.Parallel()
	const group = "c27-twins"
	s := start(t, options(t, fastGroups))
	w, elder, twin := dial(t, s), dial(t, s), dial(t, s)
	first := elder.join(t, group, "twin", "")
	if code := elder.sync(t, group, "twin", first); code != 0 {
		t.Fatalf("sync: error %d", code)
	}
	second := twin.join(t, group, "twin", "")
	if second.ErrorCode != 0 || second.MemberID == first.MemberID {
		t.Fatalf("the second twin is %q after %q, error %d", second.MemberID, first.MemberID, second.ErrorCode)
	}
	if second.Generation != first.Generation {
		t.Errorf("a twin with the same subscription started generation %d after %d", second.Generation, first.Generation)
	}
	check := func(when string) {
		t.Helper()
		if got := w.beat(t, group, "twin", first); got != kerr.FencedInstanceID.Code {
			t.Errorf("%s: the elder's heartbeat got error %d, want FENCED_INSTANCE_ID", when, got)
		}
		if got := w.beat(t, group, "twin", second); got != 0 {
			t.Errorf("%s: the younger's heartbeat got error %d", when, got)
		}
	}
	check("after the join")
	kill(t, s)
	s = start(t, s.Again())
	w = dial(t, s)
	check("after a kill")
	s = restart(t, s)
	w = dial(t, s)
	check("after a restart")
}

// join takes part in a group by one protocol; a static member needs no second request for its id.
func (w *wire) join(t *testing.T, group, instance, member string) *kmsg.JoinGroupResponse {
	t.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = group, member, &instance, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 20_000, 20_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	return w.ask(t, 7, req).(*kmsg.JoinGroupResponse)
}

func (w *wire) sync(t *testing.T, group, instance string, joined *kmsg.JoinGroupResponse) int16 {
	t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.InstanceID, req.MemberID, req.Generation = group, &instance, joined.MemberID, joined.Generation
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("all")}}
	return w.ask(t, 3, req).(*kmsg.SyncGroupResponse).ErrorCode
}

func (w *wire) beat(t *testing.T, group, instance string, joined *kmsg.JoinGroupResponse) int16 {
	t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.InstanceID, req.MemberID, req.Generation = group, &instance, joined.MemberID, joined.Generation
	return w.ask(t, 3, req).(*kmsg.HeartbeatResponse).ErrorCode
}

// C27: one of two static members goes and comes back within its session, and the broker is killed under them. The other
// one keeps its partitions, its member id and its generation all the time.
func TestC27QuickReturn(t *testing.T) {
	t.Parallel()
	const group, topic = "c27-return", "c27-return"
	s := start(t, options(t, "BROKERD_GROUP_INITIAL_REBALANCE_DELAY=2s")) // both come in time for the first generation
	setup := client(t, s)
	create(t, setup, topic, 4, nil)

	var changes, ignored, returned, read atomic.Int64
	member := func(instance string, changes *atomic.Int64) *kgo.Client {
		note := func(context.Context, *kgo.Client, map[string][]int32) { changes.Add(1) }
		cl := client(t, s, kgo.ConsumerGroup(group), kgo.InstanceID(instance), kgo.ConsumeTopics(topic),
			kgo.Balancers(kgo.RangeBalancer()), kgo.SessionTimeout(60*time.Second), kgo.DisableAutoCommit(),
			// A heartbeat that finds nobody at home makes this client join again, which is a change of its own.
			kgo.HeartbeatInterval(30*time.Second), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.OnPartitionsAssigned(note), kgo.OnPartitionsRevoked(note), kgo.OnPartitionsLost(note))
		pollAlways(t, cl, &read)
		return cl
	}
	stays := member("stays", &changes)
	goes := member("goes", &ignored)
	share := map[string]int{"goes": 2, "stays": 2}
	eventually(t, 30*time.Second, "both members have their share", func() bool {
		return changes.Load() == 1 && ignored.Load() == 1 && maps.Equal(shares(t, setup, group), share)
	})
	id, generation := stays.GroupMetadata()

	goes.Close()
	kill(t, s)
	s = start(t, s.Again())
	goes = member("goes", &returned)
	eventually(t, 30*time.Second, "the member that went has its share again", func() bool { return returned.Load() > 0 })
	if _, now := goes.GroupMetadata(); now != generation {
		t.Errorf("the member that came back is in generation %d, want %d", now, generation)
	}
	s = restart(t, s)
	publish(t, setup, harness.NewLedger(), newMaker(27).records(topic, 0, 10, 100)...)
	publish(t, setup, harness.NewLedger(), newMaker(27).records(topic, 3, 10, 100)...)
	eventually(t, 30*time.Second, "both members read", func() bool { return read.Load() == 20 })
	if got := shares(t, setup, group); !maps.Equal(got, share) {
		t.Errorf("in the end the partitions are shared as %v", got)
	}
	if idNow, generationNow := stays.GroupMetadata(); idNow != id || generationNow != generation {
		t.Errorf("the member that stayed was %s in generation %d, and is %s in generation %d", id, generation, idNow, generationNow)
	}
	if err := stays.CommitUncommittedOffsets(limited(t, 30*time.Second)); err != nil {
		t.Errorf("the member that stayed cannot commit: %v", err)
	}
	if n := changes.Load(); n != 1 {
		t.Errorf("the assignment of the member that stayed changed %d times", n-1)
	}
}

// shares are the numbers of partitions that the static members of a stable group have.
func shares(t *testing.T, cl *kgo.Client, group string) map[string]int {
	t.Helper()
	described, err := kadm.NewClient(cl).DescribeGroups(limited(t, 30*time.Second), group)
	if err != nil {
		t.Fatalf("describe group %s: %v", group, err)
	}
	got := map[string]int{}
	if described[group].State != "Stable" {
		return got
	}
	for _, m := range described[group].Members {
		if a, ok := m.Assigned.AsConsumer(); ok && m.InstanceID != nil {
			for _, topic := range a.Topics {
				got[*m.InstanceID] += len(topic.Partitions)
			}
		}
	}
	return got
}

// pollAlways polls until the client is closed or the test ends, and counts the records.
func pollAlways(t *testing.T, cl *kgo.Client, read *atomic.Int64) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for fetches := cl.PollFetches(ctx); ctx.Err() == nil && !fetches.IsClientClosed(); fetches = cl.PollFetches(ctx) {
			read.Add(int64(fetches.NumRecords()))
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// C27: three groups of static members copy from topic to topic. They are all restarted together, twice, under load. Each
// record arrives, once.
func TestC27Chain(t *testing.T) {
	t.Parallel()
	const stages, rounds, each = 3, 3, 200
	s := start(t, options(t, fastGroups))
	setup := client(t, s)
	for i := range stages + 1 {
		create(t, setup, fmt.Sprint("c27-chain-", i), 2, nil)
	}
	m := newMaker(28)
	for round := range rounds {
		ctx, stop := context.WithCancel(t.Context())
		var copying sync.WaitGroup
		for i := range stages {
			copying.Go(func() { copyRecords(t, ctx, s, i) })
		}
		for p := range int32(2) {
			publish(t, setup, harness.NewLedger(), m.records("c27-chain-0", p, each/2, 50)...)
		}
		if round == rounds-1 {
			eventually(t, 60*time.Second, "everything has come through", func() bool {
				return ended(t, s, fmt.Sprint("c27-chain-", stages)) >= rounds*each
			})
		}
		stop()
		copying.Wait()
	}
	read, err := harness.ReadAll(limited(t, 60*time.Second), s.Kafka, fmt.Sprint("c27-chain-", stages))
	if err != nil {
		t.Fatal(err)
	}
	report(t, harness.Duplicates(read, faultLimit))
	if len(read) != rounds*each {
		t.Errorf("%d records came through, want %d", len(read), rounds*each)
	}
}

// copyRecords is one static member that copies from one topic of the chain to the next, until ctx is done. What it has
// read by then it finishes.
func copyRecords(t *testing.T, ctx context.Context, s *harness.Server, stage int) {
	from, to := fmt.Sprint("c27-chain-", stage), fmt.Sprint("c27-chain-", stage+1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka), kgo.ConsumerGroup(fmt.Sprint("c27-stage-", stage)),
		kgo.InstanceID("one"), kgo.ConsumeTopics(from), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Error(err)
		return
	}
	defer cl.CloseAllowingRebalance()
	for {
		fetches := cl.PollFetches(ctx)
		if fetches.IsClientClosed() || ctx.Err() != nil && fetches.NumRecords() == 0 {
			return
		}
		var records []*kgo.Record
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, &kgo.Record{Topic: to, Partition: r.Partition, Key: r.Key, Value: r.Value})
		})
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		err := cl.ProduceSync(finish, records...).FirstErr()
		if err == nil {
			err = cl.CommitUncommittedOffsets(finish)
		}
		cancel()
		if err != nil {
			t.Errorf("stage %d: %v", stage, err)
			return
		}
		cl.AllowRebalance()
	}
}

// ended is the sum of the end offsets of a topic's two partitions.
func ended(t *testing.T, s *harness.Server, topic string) (n int64) {
	t.Helper()
	w := dial(t, s)
	defer w.Close()
	for p := range int32(2) {
		n += w.listOffset(t, topic, p, -1).Offset
	}
	return n
}
