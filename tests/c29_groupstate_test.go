package tests

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C29: groups, their offsets and the text with them are the same on both sides of a restart and of a kill; a deleted
// group does not come back.
func TestC29GroupsSurvive(t *testing.T) {
	t.Parallel()
	const topic = "c29"
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, topic, 3, nil)
	publish(t, cl, harness.NewLedger(), newMaker(29).records(topic, 0, 100, 10)...)
	texts := []string{"", "plain text", "日本語 and \x00 and \n", strings.Repeat("m", 4096)}
	for i, text := range texts {
		commit(t, cl, fmt.Sprint("kept-", i),
			kadm.Offset{Topic: topic, Partition: 0, At: int64(10 * i), Metadata: text},
			kadm.Offset{Topic: topic, Partition: 2, At: 0, Metadata: text})
	}
	commit(t, cl, "deleted", kadm.Offset{Topic: topic, At: 5})
	deleteGroup(t, cl, "deleted")
	commit(t, cl, "kept-1", kadm.Offset{Topic: topic, Partition: 0, At: 77, Metadata: "newer"})

	before := groupState(t, s)
	if len(before) != 2*len(texts) || !slices.Contains(before, `kept-1 c29/0 77 "newer"`) {
		t.Fatalf("before the restart: %q", before)
	}
	s = restart(t, s)
	if after := groupState(t, s); !slices.Equal(before, after) {
		t.Errorf("after a restart:\n%q, before:\n%q", after, before)
	}
	kill(t, s)
	s = start(t, s.Again())
	if after := groupState(t, s); !slices.Equal(before, after) {
		t.Errorf("after a kill:\n%q, before:\n%q", after, before)
	}
	deleteGroup(t, client(t, s), "kept-0")
	kill(t, s)
	s = start(t, s.Again())
	if after := groupState(t, s); !slices.Equal(before[2:], after) {
		t.Errorf("after a deletion and a kill:\n%q, want:\n%q", after, before[2:])
	}
}

func deleteGroup(t *testing.T, cl *kgo.Client, group string) {
	t.Helper()
	resp, err := kadm.NewClient(cl).DeleteGroups(limited(t, 30*time.Second), group)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		t.Fatalf("delete group %s: %v", group, err)
	}
}

// groupState is every committed offset of every group, in order. Groups must be listed, described and fetched alike.
func groupState(t *testing.T, s *harness.Server) (state []string) {
	t.Helper()
	adm := kadm.NewClient(client(t, s))
	ctx := limited(t, 30*time.Second)
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range listed.Sorted() {
		described, err := adm.DescribeGroups(ctx, group.Group)
		if err != nil || described[group.Group].Err != nil || described[group.Group].State != group.State {
			t.Fatalf("describe group %s, listed as %s: %+v, %v", group.Group, group.State, described[group.Group], err)
		}
		offsets, err := adm.FetchOffsets(ctx, group.Group)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range offsets.Sorted() {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			state = append(state, fmt.Sprintf("%s %s/%d %d %q", group.Group, o.Topic, o.Partition, o.At, o.Metadata))
		}
	}
	return state
}

// C29: offsets expire when their group has been empty for a while, and not while it has a member, however idle. The time
// counts from the moment that the last member left.
func TestC29IdleGroups(t *testing.T) {
	t.Parallel()
	const topic, retention = "c29-idle", 3 * time.Second
	s := start(t, options(t, fastGroups, "BROKERD_GROUP_OFFSETS_RETENTION=3s", "BROKERD_GROUP_OFFSETS_CHECK=100ms"))
	cl := client(t, s)
	create(t, cl, topic, 1, nil)
	publish(t, cl, harness.NewLedger(), newMaker(29).records(topic, 0, 10, 10)...)
	commit(t, cl, "empty", kadm.Offset{Topic: topic, At: 5})

	var read atomic.Int64
	member := client(t, s, kgo.ConsumerGroup("idle"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	pollAlways(t, member, &read)
	eventually(t, 30*time.Second, "the member has read", func() bool { return read.Load() == 10 })
	if err := member.CommitUncommittedOffsets(limited(t, 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	committed := time.Now()
	eventually(t, 30*time.Second, "the offsets of the empty group expire", func() bool { return offsetOf(t, cl, "empty", topic) < 0 })
	eventually(t, 30*time.Second, "the idle group's commit is old", func() bool { return time.Since(committed) > retention+time.Second })
	if at := offsetOf(t, cl, "idle", topic); at != 10 {
		t.Errorf("the group with a member is at %d, want 10", at)
	}
	member.Close()
	left := time.Now()
	if at := offsetOf(t, cl, "idle", topic); at != 10 {
		t.Errorf("the group that has just become empty is at %d, want 10", at)
	}
	eventually(t, 30*time.Second, "the offsets of the group that became empty expire", func() bool {
		return offsetOf(t, cl, "idle", topic) < 0
	})
	if kept := time.Since(left); kept < retention-100*time.Millisecond {
		t.Errorf("they expired %v after the last member left, want %v", kept, retention)
	}
}

// offsetOf is the offset that a group committed for partition 0, -1 for none.
func offsetOf(t *testing.T, cl *kgo.Client, group, topic string) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(cl).FetchOffsets(limited(t, 30*time.Second), group)
	if err != nil {
		t.Fatalf("fetch the offsets of %s: %v", group, err)
	}
	if o, ok := offsets.Lookup(topic, 0); ok {
		return o.At
	}
	return -1
}
