package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// GroupConfig says what a group reads. The group itself, a durable consumer of the stream, is made by its first member and
// stays when all have left; later members may change everything but From.
type GroupConfig struct {
	Stream   string
	Group    string
	Subjects []string      // filters; none for all messages
	From     Position      // where a new group begins; the zero Position is the stream's beginning
	AckWait  time.Duration // after which a message that is not settled is given to somebody else; 30 s by default
	Attempts int           // times that a message is given to members; 0 for no limit
	MaxHeld  int           // messages that all members together hold without having settled them; 1000 by default
	Prefetch int           // messages that this member takes in advance; 100 by default
}

// Group is a member of a group. Its methods may be called from several goroutines.
type Group struct {
	messages jetstream.MessagesContext

	mu       sync.Mutex
	held     map[*Message]struct{} // given out and not settled; guarded by mu, like the fields below
	draining bool
	settled  chan struct{} // closed, and replaced, when a message is settled
}

// JoinGroup makes the group if it is not there, and joins it. The member must be drained or closed.
func JoinGroup(ctx context.Context, nc *nats.Conn, config GroupConfig) (*Group, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("client: join group %s: %w", config.Group, err)
	}
	consumer, err := config.consumer(ctx, js)
	if err != nil {
		return nil, fmt.Errorf("client: join group %s of %s: %w", config.Group, config.Stream, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(cmp.Or(config.Prefetch, 100)),
		jetstream.WithMessagesErrOnMissingHeartbeat(false)) // it asks again by itself
	if err != nil {
		return nil, fmt.Errorf("client: join group %s of %s: %w", config.Group, config.Stream, err)
	}
	return &Group{messages: messages, held: map[*Message]struct{}{}, settled: make(chan struct{})}, nil
}

// consumer finds or makes the durable consumer, and gives it the configuration.
func (c GroupConfig) consumer(ctx context.Context, js jetstream.JetStream) (jetstream.Consumer, error) {
	want := jetstream.ConsumerConfig{
		Durable: c.Group, AckPolicy: jetstream.AckExplicitPolicy, FilterSubjects: c.Subjects,
		AckWait: cmp.Or(c.AckWait, 30*time.Second), MaxDeliver: cmp.Or(c.Attempts, -1), MaxAckPending: cmp.Or(c.MaxHeld, 1000),
	}
	there, err := js.Consumer(ctx, c.Stream, c.Group)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = c.From.policy()
		made, err := js.CreateConsumer(ctx, c.Stream, want)
		if !errors.Is(err, jetstream.ErrConsumerExists) {
			return made, err
		}
		there, err = js.Consumer(ctx, c.Stream, c.Group) // another member was faster
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	was := there.CachedInfo().Config
	want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = was.DeliverPolicy, was.OptStartSeq, was.OptStartTime
	return js.UpdateConsumer(ctx, c.Stream, want)
}

// Next waits for the next message. Errors: ctx's, ErrClosed after Drain or Close, and when the group was deleted.
func (g *Group) Next(ctx context.Context) (*Message, error) {
	raw, err := g.messages.Next(jetstream.NextContext(ctx))
	switch {
	case errors.Is(err, jetstream.ErrMsgIteratorClosed):
		return nil, ErrClosed
	case errors.Is(err, jetstream.ErrConsumerDeleted):
		return nil, fmt.Errorf("%w: the group was deleted", ErrClosed)
	case err != nil:
		return nil, err
	}
	record, about, err := recordOf(raw)
	if err != nil {
		return nil, err
	}
	m := &Message{Record: record, Attempt: int(about.NumDelivered), Behind: about.NumPending, group: g, raw: raw}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining { // it came too late for this member
		return nil, cmp.Or(raw.Nak(), ErrClosed)
	}
	g.held[m] = struct{}{}
	return m, nil
}

// Drain leaves the group gracefully: no more messages are given out, those that were taken in advance go back to the
// group at once, and those that were given out may be settled until ctx is done. Its error says how many were not; the
// group is given these again.
func (g *Group) Drain(ctx context.Context) error {
	g.mu.Lock()
	already := g.draining
	g.draining = true
	g.mu.Unlock()
	if already {
		return ErrClosed
	}
	g.messages.Drain()
	var ahead []jetstream.Msg
	for raw, err := g.messages.Next(); err == nil; raw, err = g.messages.Next() {
		ahead = append(ahead, raw)
	}
	for _, raw := range ahead { // not before this member has stopped asking, or it would be given them again
		if err := raw.Nak(); err != nil {
			return fmt.Errorf("client: give messages back: %w", err)
		}
	}
	for {
		g.mu.Lock()
		left, settled := len(g.held), g.settled
		g.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("client: %d messages are not settled: %w", left, ctx.Err())
		}
	}
}

// Close leaves the group at once. What was given out and is not settled is given to somebody else after AckWait.
func (g *Group) Close() { g.messages.Stop() }

// settle ends m's time with this member by calling f, once. When f fails, m is held as before.
func (g *Group) settle(m *Message, f func() error) error {
	g.mu.Lock()
	_, held := g.held[m]
	delete(g.held, m)
	g.mu.Unlock()
	if !held {
		return ErrSettled
	}
	err := f()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.held[m] = struct{}{}
		return fmt.Errorf("client: settle message %d: %w", m.Sequence, err)
	}
	close(g.settled)
	g.settled = make(chan struct{})
	return nil
}

// before lists what is held and comes before m in the stream.
func (g *Group) before(m *Message) []*Message {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.SortedFunc(func(yield func(*Message) bool) {
		for other := range maps.Keys(g.held) {
			if other.Sequence < m.Sequence && !yield(other) {
				return
			}
		}
	}, func(a, b *Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
}
