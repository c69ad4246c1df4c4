package consumer

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"brokerd/consumer/store"
)

// consumerProtocol is the protocol type whose subscriptions the broker can read, and that of all consumer groups.
const consumerProtocol = "consumer"

// Listed is one group of a list.
type Listed struct {
	Group        string
	Type         string // ClassicType or ConsumerType
	ProtocolType string // "" when it never had members
	State        State
}

// Description is what there is to know about a classic group.
type Description struct {
	Listed
	Protocol string // "" unless the group is stable; DurableProtocol for a durable consumer
	Members  []MemberDescription
}

// MemberDescription is what there is to know about a member.
type MemberDescription struct {
	MemberID, InstanceID string
	ClientID, Host       string
	Subscription         []byte // both are empty unless the group is stable
	Assignment           []byte
}

// List returns all groups ordered by id.
func (g *Groups) List() []Listed {
	var list []Listed
	hidden := map[string]bool{}
	for _, d := range g.eachDurable() {
		hidden[d.Group] = true
		list = append(list, d.listed())
	}
	for _, e := range g.all() {
		e.mu.Lock()
		if !e.dead && !hidden[e.id] {
			list = append(list, e.listed())
		}
		e.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

func (e *entry) listed() Listed {
	s := e.group.status()
	return Listed{Group: e.id, Type: s.kind, ProtocolType: s.protocolType, State: s.state}
}

// Describe tells about one classic group. ErrNotFound, also for a group of the other type.
func (g *Groups) Describe(group string) (Description, error) {
	if d, ok := g.durable(group); ok {
		return Description{Listed: d.listed(), Protocol: DurableProtocol}, nil
	}
	e := g.lock(group)
	if e == nil {
		return Description{}, ErrNotFound
	}
	defer e.mu.Unlock()
	classic := e.classic()
	if classic == nil {
		return Description{}, fmt.Errorf("%w of the classic type", ErrNotFound)
	}
	d := Description{Listed: e.listed()}
	stable := classic.state == Stable
	if stable {
		d.Protocol = classic.protocol
	}
	for _, m := range classic.sorted() {
		md := MemberDescription{MemberID: m.id, InstanceID: m.instance, ClientID: m.client, Host: m.host}
		if stable {
			md.Subscription, md.Assignment = m.metadata(classic.protocol), m.assignment
		}
		d.Members = append(d.Members, md)
	}
	return d, nil
}

// Delete removes groups with their offsets. The answer comes when that is synced: an error for each, nil, ErrNotFound,
// ErrNonEmpty or ErrStorage.
func (g *Groups) Delete(groups []string) Wait[[]error] {
	errs := make([]error, len(groups))
	waits := make([]func(context.Context) error, len(groups))
	for i, id := range groups {
		if _, ok := g.durable(id); ok {
			waits[i] = g.durables.Remove(id)
			continue
		}
		g.mu.Lock()
		e, ok := g.entries[id]
		g.mu.Unlock()
		if !ok {
			errs[i] = ErrNotFound
			continue
		}
		var w *store.Write
		if w, errs[i] = g.remove(e); errs[i] == nil {
			waits[i] = w.Wait
		}
	}
	return func(ctx context.Context) ([]error, error) {
		for i, wait := range waits {
			if wait != nil {
				errs[i] = wait(ctx)
			}
		}
		return errs, ctx.Err()
	}
}

// subscribed is known of members whose protocol the broker can read.
func (g *classicGroup) subscribed(*catalog) (map[string]bool, bool) {
	topics := map[string]bool{}
	if len(g.members) == 0 {
		return topics, true
	}
	if g.protocolType != consumerProtocol {
		return nil, false
	}
	for _, m := range g.members {
		for _, p := range m.protocols {
			names, ok := subscribedTopics(p.Metadata)
			if !ok {
				return nil, false
			}
			for _, name := range names {
				topics[name] = true
			}
		}
	}
	return topics, true
}

// subscribedTopics reads the start of a subscription as Kafka's consumers write it: version int16, number of topics
// int32, then each topic with its length as int16. What follows depends on the version and is left alone.
func subscribedTopics(b []byte) ([]string, bool) {
	if len(b) < 6 {
		return nil, false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	var topics []string
	for ; n > 0; n-- {
		if len(b) < 2 {
			return nil, false
		}
		size := int(binary.BigEndian.Uint16(b))
		if size > len(b)-2 {
			return nil, false
		}
		topics = append(topics, string(b[2:2+size]))
		b = b[2+size:]
	}
	return topics, true
}
