package consumer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Durables are the durable consumers of NATS clients. Each is a group too: it reads the one partition that its stream is,
// and its committed offset is its ack floor. Nobody joins it through Kafka.
type Durables interface {
	// Durable finds one by its group id.
	Durable(group string) (Durable, bool)
	// Durables returns all of them, in any order.
	Durables() []Durable
	// Move makes offset the next one that is delivered, and forgets what is pending. The function that it returns waits
	// until that is on disk. ErrNotFound, ErrStorage.
	Move(group string, offset int64) func(context.Context) error
	// Remove deletes one. The function that it returns waits until that is on disk. ErrNotFound, ErrStorage.
	Remove(group string) func(context.Context) error
}

// Durable is a durable consumer as a group.
type Durable struct {
	Group     string // STREAM/CONSUMER
	Active    bool   // a client asks for messages, or listens
	Committed        // its ack floor, with a DurableNote as metadata
}

// DurableNote is the metadata of a durable consumer's offset, in JSON.
type DurableNote struct {
	Pending     int `json:"pending"`     // delivered and not acknowledged
	Redelivered int `json:"redelivered"` // of them, more than once
}

// DurableProtocol is the protocol of groups that are durable consumers: that is how they are told from others.
const DurableProtocol = "jetstream"

// AttachDurables adds the durable consumers to the table of groups. It is called before the first request.
func (g *Groups) AttachDurables(d Durables) { g.durables = d }

// durable finds the durable consumer that a group is. It hides any other group of that name.
func (g *Groups) durable(group string) (Durable, bool) {
	if g.durables == nil {
		return Durable{}, false
	}
	return g.durables.Durable(group)
}

// eachDurable returns all durable consumers ordered by group id.
func (g *Groups) eachDurable() []Durable {
	if g.durables == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(g.durables.Durables()), func(a, b Durable) int { return cmp.Compare(a.Group, b.Group) })
}

func (d *Durable) listed() Listed {
	l := Listed{Group: d.Group, Type: ClassicType, ProtocolType: consumerProtocol, State: Empty}
	if d.Active {
		l.State = Stable
	}
	return l
}

// refuseMember says why nobody can become a member of a group. It is nil unless the group is a durable consumer.
func (g *Groups) refuseMember(group string) error {
	if _, ok := g.durable(group); ok {
		return fmt.Errorf("%w: the group is a durable consumer, which only NATS clients read through", ErrInconsistentProtocol)
	}
	return nil
}

// commitDurable moves a durable consumer, for an administrator.
func (g *Groups) commitDurable(d Durable, r *CommitRequest) Wait[[]error] {
	if r.Generation >= 0 {
		return ready[[]error](nil, ErrUnknownMember)
	}
	errs, puts := g.prepareCommit(r)
	var moved func(context.Context) error
	for _, p := range puts {
		if p.topic != d.Topic || p.partition != d.Partition {
			errs[p.index] = fmt.Errorf("%w: the durable consumer reads %s/%d alone", ErrUnknownPartition, d.Topic, d.Partition)
			continue
		}
		moved = g.durables.Move(d.Group, p.Offset.Offset)
	}
	if moved == nil {
		return ready(errs, nil)
	}
	return func(ctx context.Context) ([]error, error) { return errs, moved(ctx) }
}
