package tests

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// Members of a group in which the broker assigns keep their partitions and epochs when the broker is killed, and read on;
// one that leaves while it is down is missed when its session ends, and the others take over.
func TestConsumerGroupSurvivesKills(t *testing.T) {
	t.Parallel()
	const topic, partitions = "assigned", 12
	s := start(t, options(t, "BROKERD_GROUP_CONSUMER_HEARTBEAT_INTERVAL=100ms", "BROKERD_GROUP_CONSUMER_SESSION_TIMEOUT=10s"))
	create(t, client(t, s), topic, partitions, nil)
	seen := &positions{}
	members := make([]*kgo.Client, 3)
	for i := range members {
		members[i] = client(t, s, kgo.ConsumerGroup("g"), kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()),
			kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(100*time.Millisecond))
		seen.pollAlways(t, members[i])
	}
	state := func(members int) string { return consumerState(t, s, "g", members, partitions/members) }
	eventually(t, 60*time.Second, "three members share", func() bool { return state(3) != "" })
	before, written := state(3), 0
	write := func() {
		for p := range int32(partitions) {
			publish(t, client(t, s), harness.NewLedger(), newMaker(48).records(topic, p, 10, 20)...)
			written += 10
		}
	}
	for round := range 3 {
		write()
		kill(t, s)
		s = start(t, s.Again())
		write()
		eventually(t, 60*time.Second, "everything is read", func() bool { return seen.count() == written })
		if after := state(3); after != before {
			t.Errorf("after kill %d: %s, before: %s", round, after, before)
		}
	}
	kill(t, s)
	members[0].CloseAllowingRebalance()
	s = start(t, s.Again())
	write()
	eventually(t, 60*time.Second, "the others read everything", func() bool { return seen.count() == written && state(2) != "" })
}

// positions are the places of records that were read.
type positions struct{ places sync.Map }

func (p *positions) count() int {
	n := 0
	p.places.Range(func(any, any) bool { n++; return true })
	return n
}

// pollAlways polls until the client is closed or the test ends.
func (p *positions) pollAlways(t *testing.T, cl *kgo.Client) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for fetches := cl.PollFetches(ctx); ctx.Err() == nil && !fetches.IsClientClosed(); fetches = cl.PollFetches(ctx) {
			fetches.EachRecord(func(r *kgo.Record) { p.places.Store(fmt.Sprint(r.Partition, "@", r.Offset), true) })
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// consumerState is the members of a consumer group with their epochs and partitions; "" unless the group is stable and has
// so many members with so many partitions each.
func consumerState(t *testing.T, s *harness.Server, group string, members, each int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	groups, err := kadm.NewClient(client(t, s)).DescribeConsumerGroups(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	g := groups[group]
	if g.Err != nil || g.State != "Stable" || len(g.Members) != members {
		return ""
	}
	state := fmt.Sprintf("epoch %d", g.Epoch)
	for _, m := range g.Members {
		n := 0
		for _, ids := range m.Assignment {
			n += len(ids)
		}
		if n != each {
			return ""
		}
		state += fmt.Sprintf(", %s in %d: %v", m.MemberID, m.MemberEpoch, m.Assignment.Sorted())
	}
	return state
}
