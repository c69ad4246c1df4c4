package consumer

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// ConsumerHeartbeat takes the heartbeat of a member of a consumer group (KIP-848), which also joins and leaves that way.
// The answer comes when what it shows is on disk. A classic group that has no members becomes a consumer group.
// Errors: ErrInvalidGroupID, ErrInvalidHeartbeat, ErrUnknownAssignor, ErrInvalidRegex, ErrTooLarge, ErrGroupFull,
// ErrUnknownMember, ErrFencedInstance, ErrUnreleasedInstance, ErrFencedEpoch, ErrStorage; ErrInconsistentProtocol when the group is a durable consumer; ErrNotFound when the group is a
// classic one that has members.
func (g *Groups) ConsumerHeartbeat(r *HeartbeatRequest) Wait[*HeartbeatResponse] {
	if err := checkGroupID(r.Group); err != nil {
		return ready[*HeartbeatResponse](nil, err)
	}
	if err := cmp.Or(r.check(), g.refuseMember(r.Group)); err != nil {
		return ready[*HeartbeatResponse](nil, err)
	}
	lock := g.lock
	if r.Epoch == JoinEpoch {
		lock = g.lockNew
		if r.MemberID == "" {
			r.MemberID = rand.Text()
		}
	}
	e := lock(r.Group)
	if e == nil {
		return ready[*HeartbeatResponse](nil, ErrUnknownMember)
	}
	defer e.mu.Unlock()
	group, err := g.consumerFor(e, r)
	if err != nil {
		return ready[*HeartbeatResponse](nil, err)
	}
	resp, err := group.heartbeat(r, g.catalogs.current(), time.Now())
	g.settle(e)
	if err != nil || e.saved == nil {
		return ready(resp, err)
	}
	saved := e.saved
	return func(ctx context.Context) (*HeartbeatResponse, error) { return resp, saved.Wait(ctx) }
}

// consumerFor is the group that r is for. A classic group that has no members becomes a consumer group.
func (g *Groups) consumerFor(e *entry, r *HeartbeatRequest) (*consumerGroup, error) {
	classic := e.classic()
	switch {
	case classic == nil:
		return e.consumer(), nil
	case classic.state != Empty:
		return nil, fmt.Errorf("%w of the consumer type", ErrNotFound)
	case r.Epoch != JoinEpoch:
		return nil, ErrUnknownMember
	}
	group := newConsumerGroup(g.settings)
	group.emptySince = classic.emptySince
	e.become(group)
	return group, nil
}

// MayFetch says whether a member may ask for its group's offsets. ErrUnknownMember and ErrStaleEpoch, from consumer groups
// alone.
func (g *Groups) MayFetch(group, member string, epoch int32) error {
	e := g.lock(group)
	if e == nil {
		return nil
	}
	defer e.mu.Unlock()
	if e.consumer() == nil {
		return nil
	}
	return e.consumer().mayFetch(member, epoch)
}

// ConsumerDescription is what there is to know about a consumer group.
type ConsumerDescription struct {
	Listed
	Epoch       int32
	TargetEpoch int32
	Assignor    string
	Members     []ConsumerMember
}

// ConsumerMember is what there is to know about a member of a consumer group.
type ConsumerMember struct {
	MemberID, InstanceID string
	RackID               string
	ClientID, Host       string
	Epoch                int32
	Topics               []string
	Regex                string
	Assignment, Target   []Assigned // of the topics that still exist, with their names
}

// DescribeConsumer tells about one consumer group. ErrNotFound, also for a group of the other type.
func (g *Groups) DescribeConsumer(group string) (ConsumerDescription, error) {
	e := g.lock(group)
	if e == nil {
		return ConsumerDescription{}, ErrNotFound
	}
	defer e.mu.Unlock()
	c := e.consumer()
	if c == nil {
		return ConsumerDescription{}, fmt.Errorf("%w of the consumer type", ErrNotFound)
	}
	catalog := g.catalogs.current()
	d := ConsumerDescription{Listed: e.listed(), Epoch: c.epoch, TargetEpoch: c.targetEpoch, Assignor: c.assignor()}
	for _, m := range c.sorted() {
		d.Members = append(d.Members, ConsumerMember{
			MemberID: m.id, InstanceID: m.instance, RackID: m.rack, ClientID: m.client, Host: m.host,
			Epoch: m.epoch, Topics: m.names, Regex: m.regex,
			Assignment: catalog.named(m.assigned), Target: catalog.named(m.target),
		})
	}
	return d, nil
}

// named lists places with the names of their topics, those that still exist.
func (c *catalog) named(s places) []Assigned {
	var list []Assigned
	for _, a := range s.byTopic() {
		if name, ok := c.names[a.Topic]; ok {
			a.Name = name
			list = append(list, a)
		}
	}
	return list
}
