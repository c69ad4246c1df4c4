package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"brokerd/consumer"
)

// durableType is the type of a group that is a durable consumer of NATS clients. To Kafka's tools it is a classic one.
const durableType = "durable"

// durableText is what a durable consumer has beside what every group has.
type durableText struct {
	AckFloor *int64 `json:"ack_floor"` // sequence up to which everything is done with
	Pending  *int64 `json:"pending"`   // delivered and not acknowledged
	Lag      *int64 `json:"lag"`
}

func isDurable(g kadm.DescribedGroupLag) bool { return g.Protocol == consumer.DurableProtocol }

// findDurables describes the durable consumers among the groups.
func findDurables(ctx context.Context, adm *kadm.Client, groups kadm.ListedGroups) (map[string]*durableText, error) {
	var names []string
	for _, g := range groups {
		if strings.Contains(g.Group, "/") {
			names = append(names, g.Group)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	lags, err := adm.Lag(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describe groups: %w", err)
	}
	durables := map[string]*durableText{}
	for name, g := range lags {
		if isDurable(g) {
			durables[name] = durableOf(g)
		}
	}
	return durables, nil
}

// durableOf reads what a durable consumer tells with its one committed offset.
func durableOf(g kadm.DescribedGroupLag) *durableText {
	t := &durableText{}
	for _, l := range g.Lag.Sorted() {
		var note consumer.DurableNote
		if json.Unmarshal([]byte(l.Commit.Metadata), &note) != nil {
			continue
		}
		floor, pending, lag := l.Commit.At, int64(note.Pending), max(0, l.Lag)
		t.AckFloor, t.Pending, t.Lag = &floor, &pending, &lag
	}
	return t
}
