package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// findConsumerGroup asks for a group in which the broker assigns (KIP-848), which other requests do not know. False if
// there is none of that name.
func findConsumerGroup(ctx context.Context, adm *kadm.Client, name string) (kadm.DescribedConsumerGroup, bool, error) {
	groups, err := adm.DescribeConsumerGroups(ctx, name)
	g := groups[name]
	switch {
	case err != nil:
		return g, false, fmt.Errorf("describe group %s: %w", name, err)
	case errors.Is(g.Err, kerr.GroupIDNotFound):
		return g, false, nil
	case g.Err != nil:
		return g, false, fmt.Errorf("describe group %s: %w", name, refused(g.Err, ""))
	}
	return g, true, nil
}

// newConsumerGroupText is newGroupText for a group in which the broker assigns.
func newConsumerGroupText(ctx context.Context, adm *kadm.Client, g kadm.DescribedConsumerGroup) (groupText, error) {
	t := groupText{Group: g.Group, Type: "consumer", State: g.State, ProtocolType: "consumer", Protocol: g.AssignorName,
		Members: []memberText{}, Partitions: []lagText{}}
	owners := make(map[partition]string)
	for _, m := range g.Members {
		member := memberText{Member: m.MemberID, Instance: m.InstanceID, Client: m.ClientID, Host: m.ClientHost,
			Partitions: []assignedText{}}
		for _, topic := range m.Assignment.Sorted() {
			for _, id := range topic.Partitions {
				owners[partition{topic.Topic, id}] = m.MemberID
				member.Partitions = append(member.Partitions, assignedText{topic.Topic, id})
			}
		}
		t.Members = append(t.Members, member)
	}
	committed, err := committedOffsets(ctx, adm, g.Group)
	if err != nil {
		return t, err
	}
	shown := make(map[partition]bool)
	var topics []string
	for _, p := range slices.Concat(sorted(committed), sorted(owners)) {
		shown[p] = true
		topics = append(topics, p.topic)
	}
	if len(topics) == 0 {
		return t, nil
	}
	slices.Sort(topics)
	held, err := spans(ctx, adm, slices.Compact(topics)...)
	if err != nil {
		return t, err
	}
	for _, p := range sorted(shown) {
		l := lagText{Topic: p.topic, Partition: p.id, End: held[p].end, Member: owners[p]}
		from := held[p].start
		if at, ok := committed[p]; ok {
			l.Committed, from = &at, at
		}
		l.Lag = max(0, l.End-from)
		t.Lag += l.Lag
		t.Partitions = append(t.Partitions, l)
	}
	return t, nil
}
