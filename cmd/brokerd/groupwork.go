package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// listedText is a group as `group list --json` prints it.
type listedText struct {
	Group        string `json:"group"`
	Type         string `json:"type"`
	State        string `json:"state"`
	ProtocolType string `json:"protocol_type"`
	*durableText
}

// listGroups prints one line per group.
func listGroups(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool) error {
	groups, err := adm.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("list groups: %w", err)
	}
	durables, err := findDurables(ctx, adm, groups)
	if err != nil {
		return err
	}
	out := newTable("GROUP", "TYPE", "STATE", "PROTOCOL TYPE", ">ACK FLOOR", ">PENDING", ">LAG")
	for _, g := range groups.Sorted() {
		t := listedText{g.Group, g.GroupType, g.State, g.ProtocolType, nil}
		if d, ok := durables[g.Group]; ok {
			t.Type, t.durableText = durableType, d
		}
		if asJSON {
			if err := printJSON(w, t); err != nil {
				return err
			}
			continue
		}
		d := cmp.Or(t.durableText, &durableText{})
		out.add(t.Group, t.Type, t.State, t.ProtocolType, orDash(d.AckFloor), orDash(d.Pending), orDash(d.Lag))
	}
	if asJSON {
		return nil
	}
	return out.print(w)
}

// groupText is a group as `group describe --json` prints it.
type groupText struct {
	Group        string       `json:"group"`
	Type         string       `json:"type"`
	State        string       `json:"state"`
	ProtocolType string       `json:"protocol_type"`
	Protocol     string       `json:"protocol"`
	Pending      *int64       `json:"pending,omitempty"`
	Lag          int64        `json:"lag"`
	Members      []memberText `json:"members"`
	Partitions   []lagText    `json:"partitions"`
}

type memberText struct {
	Member     string         `json:"member"`
	Instance   *string        `json:"instance"`
	Client     string         `json:"client"`
	Host       string         `json:"host"`
	Partitions []assignedText `json:"partitions"`
}

type assignedText struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type lagText struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"committed"`
	End       int64  `json:"end"`
	Lag       int64  `json:"lag"`
	Member    string `json:"member,omitempty"`
}

// describeGroups prints each group that there is and returns an error for each that there is not.
func describeGroups(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, names []string) error {
	lags, err := adm.Lag(ctx, names...)
	if err != nil {
		return fmt.Errorf("describe groups: %w", err)
	}
	return printEach(w, names, asJSON, func(name string) (groupText, error) {
		return describeGroup(ctx, adm, name, lags[name])
	})
}

// describeGroup makes the text about a group of either type: g is what there is to know if it is a classic one.
func describeGroup(ctx context.Context, adm *kadm.Client, name string, g kadm.DescribedGroupLag) (groupText, error) {
	classic := g.DescribeErr == nil && g.State != "Dead"
	switch {
	case g.DescribeErr != nil && !errors.Is(g.DescribeErr, kerr.GroupIDNotFound), classic && g.Error() != nil:
		return groupText{}, fmt.Errorf("describe group %s: %w", name, refused(g.Error(), ""))
	case classic:
		return newGroupText(g), nil
	}
	consumer, ok, err := findConsumerGroup(ctx, adm, name)
	if err == nil && !ok {
		err = noGroup(name)
	}
	if err != nil {
		return groupText{}, err
	}
	return newConsumerGroupText(ctx, adm, consumer)
}

func newGroupText(g kadm.DescribedGroupLag) groupText {
	t := groupText{Group: g.Group, Type: "classic", State: g.State, ProtocolType: g.ProtocolType, Protocol: g.Protocol,
		Members: []memberText{}, Partitions: []lagText{}}
	for _, m := range g.Members {
		member := memberText{Member: m.MemberID, Instance: m.InstanceID, Client: m.ClientID, Host: m.ClientHost,
			Partitions: []assignedText{}}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range a.Topics {
				for _, id := range topic.Partitions {
					member.Partitions = append(member.Partitions, assignedText{topic.Topic, id})
				}
			}
		}
		slices.SortFunc(member.Partitions, func(a, b assignedText) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
		})
		t.Members = append(t.Members, member)
	}
	for _, l := range g.Lag.Sorted() {
		p := lagText{Topic: l.Topic, Partition: l.Partition, End: l.End.Offset, Lag: max(0, l.Lag)}
		if l.Commit.At >= 0 {
			p.Committed = &l.Commit.At
		}
		if l.Member != nil {
			p.Member = l.Member.MemberID
		}
		t.Lag += p.Lag
		t.Partitions = append(t.Partitions, p)
	}
	if isDurable(g) {
		t.Type, t.Pending = durableType, durableOf(g).Pending
	}
	return t
}

func (t groupText) print(w io.Writer) error {
	fmt.Fprintf(w, "group     %s\ntype      %s\nstate     %s\n", t.Group, t.Type, t.State)
	if t.Pending != nil {
		fmt.Fprintf(w, "pending   %s\n", plural(*t.Pending, "message"))
	} else if t.Protocol != "" {
		fmt.Fprintf(w, "protocol  %s, %s\n", t.ProtocolType, t.Protocol)
	}
	fmt.Fprintf(w, "lag       %s\n\n", plural(t.Lag, "record"))
	if len(t.Members) > 0 {
		members := newTable("MEMBER", "CLIENT", "HOST", "PARTITIONS")
		for _, m := range t.Members {
			members.add(m.name(), m.Client, m.Host, m.assigned())
		}
		if err := members.print(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	partitions := newTable("TOPIC", ">PARTITION", ">COMMITTED", ">END", ">LAG", "MEMBER")
	for _, p := range t.Partitions {
		partitions.add(p.Topic, p.Partition, orDash(p.Committed), p.End, p.Lag, p.Member)
	}
	return partitions.print(w)
}

// name is the member's id, with the instance it was given by its operator.
func (m memberText) name() string {
	if m.Instance == nil {
		return m.Member
	}
	return m.Member + " (" + *m.Instance + ")"
}

// assigned is the member's partitions as topic:0,1,2.
func (m memberText) assigned() string {
	if len(m.Partitions) == 0 {
		return "-"
	}
	var b strings.Builder
	for i, p := range m.Partitions {
		switch {
		case i > 0 && m.Partitions[i-1].Topic == p.Topic:
			fmt.Fprintf(&b, ",%d", p.Partition)
		case i > 0:
			fmt.Fprintf(&b, " %s:%d", p.Topic, p.Partition)
		default:
			fmt.Fprintf(&b, "%s:%d", p.Topic, p.Partition)
		}
	}
	return b.String()
}

// deleteGroups deletes each group that it can and returns all errors.
func deleteGroups(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, names []string) error {
	answers, err := adm.DeleteGroups(ctx, names...)
	if err != nil {
		return fmt.Errorf("delete groups: %w", err)
	}
	var failed []error
	for _, a := range answers.Sorted() {
		switch {
		case errors.Is(a.Err, kerr.GroupIDNotFound):
			failed = append(failed, noGroup(a.Group))
		case errors.Is(a.Err, kerr.NonEmptyGroup):
			failed = append(failed, fmt.Errorf("group %s has members: stop them and try again; `brokerd group describe %s` shows them", a.Group, a.Group))
		case a.Err != nil:
			failed = append(failed, fmt.Errorf("delete group %s: %w", a.Group, refused(a.Err, "")))
		case asJSON:
			err = printJSON(w, struct {
				Group string `json:"group"`
			}{a.Group})
		default:
			_, err = fmt.Fprintf(w, "deleted %s\n", a.Group)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
