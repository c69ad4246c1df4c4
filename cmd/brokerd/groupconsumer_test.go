package main

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestConsumerGroupCommands: the commands know groups in which the broker assigns.
func TestConsumerGroupCommands(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t", "--partitions", "2")
	s.ok(numbered(10), "produce", "t", "--partition", "1")
	member, err := kgo.NewClient(kgo.SeedBrokers(s.server), kgo.ConsumerGroup("g"), kgo.ServerSideBalancer(),
		kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	fetches := member.PollRecords(t.Context(), 4)
	if err := fetches.Err(); err != nil || len(fetches.Records()) != 4 {
		t.Fatalf("%d records, %v", len(fetches.Records()), err)
	}
	if err := member.CommitRecords(t.Context(), fetches.Records()...); err != nil {
		t.Fatal(err)
	}
	if list := s.ok("", "group", "list"); !strings.Contains(list, "g      consumer  Stable  consumer") {
		t.Errorf("list:\n%s", list)
	}
	got := s.ok("", "group", "describe", "g")
	for _, want := range []string{
		"type      consumer", "state     Stable", "protocol  consumer, range", "lag       6 records", "t:0,1",
		"t              0          -    0    0", "t              1          4   10    6",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("describe lacks %q:\n%s", want, got)
		}
	}
	g := objects(t, s.ok("", "group", "describe", "g", "--json"))[0]
	if g["type"] != "consumer" || g["lag"] != 6.0 || len(g["members"].([]any)) != 1 || len(g["partitions"].([]any)) != 2 {
		t.Errorf("describe: %v", g)
	}
	s.fails(exitFailure, "1 active member", "group", "reset", "g", "--topic", "t", "--to-beginning")
	s.fails(exitFailure, "has members", "group", "delete", "g")
	s.fails(exitFailure, "members that assign otherwise", "consume", "t", "--group", "g")

	if err := member.LeaveGroupContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.ok("", "group", "reset", "g", "--topic", "t", "--to-beginning")
	if got := s.ok("", "group", "describe", "g"); !strings.Contains(got, "state     Empty") || !strings.Contains(got, "lag       10 records") {
		t.Errorf("describe after the reset:\n%s", got)
	}
	if got := s.ok("", "group", "delete", "g"); got != "deleted g\n" {
		t.Errorf("delete: %q", got)
	}
}
