package durable

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"brokerd/consumer"
	"brokerd/topic/stream"
)

// Groups shows the durable consumers as groups, for consumer.Groups.AttachDurables.
func (cs *Consumers) Groups() consumer.Durables { return groups{cs} }

type groups struct{ *Consumers }

// find finds a consumer that is durable by its group id.
func (g groups) find(group string) (*Consumer, bool) {
	streamName, name, ok := strings.Cut(group, "/")
	if !ok {
		return nil, false
	}
	c, ok := g.Get(streamName, name)
	if !ok {
		return nil, false
	}
	config := c.config()
	return c, config.Durable != ""
}

// Durable implements consumer.Durables.
func (g groups) Durable(group string) (consumer.Durable, bool) {
	c, ok := g.find(group)
	if !ok {
		return consumer.Durable{}, false
	}
	return c.group()
}

// Durables implements consumer.Durables.
func (g groups) Durables() []consumer.Durable {
	g.mu.RLock()
	var all []*Consumer
	for _, list := range g.byStream {
		for _, c := range list {
			all = append(all, c)
		}
	}
	g.mu.RUnlock()
	var durables []consumer.Durable
	for _, c := range all {
		if d, ok := c.group(); ok {
			durables = append(durables, d)
		}
	}
	return durables
}

// group is what c is in the table of groups, if it is durable.
func (c *Consumer) group() (consumer.Durable, bool) {
	t, partition := c.stream.Topic()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machine
	if m.config.Durable == "" || c.gone {
		return consumer.Durable{}, false
	}
	note, err := json.Marshal(consumer.DurableNote{Pending: m.pending.len(), Redelivered: m.numRedelivered()})
	if err != nil {
		panic(err) // two numbers
	}
	offset := consumer.Offset{Offset: int64(m.committed()), LeaderEpoch: -1, Metadata: string(note), Time: m.last.acked}
	if offset.Time.IsZero() {
		offset.Time = c.created
	}
	return consumer.Durable{
		Group:     c.names.String(),
		Active:    m.bound || !m.waiting.empty(),
		Committed: consumer.Committed{Topic: t.Name(), Partition: partition, Offset: offset},
	}, true
}

// committed is the offset of the first record that the consumer is not done with: of those that it wants, or after all
// that it has looked at.
func (m *machine) committed() uint64 {
	if m.pending.len() == 0 && len(m.skip) == 0 {
		return max(m.floor.stream, m.next-1)
	}
	return m.floor.stream
}

// Move implements consumer.Durables.
func (g groups) Move(group string, offset int64) func(context.Context) error {
	c, ok := g.find(group)
	if !ok {
		return failed(consumer.ErrNotFound)
	}
	moved := c.moveTo(start{next: uint64(offset) + 1})
	return func(ctx context.Context) error {
		err := moved(ctx)
		if errors.Is(err, stream.ErrConsumerNotFound) {
			return consumer.ErrNotFound
		}
		if err == nil {
			g.sweep(c.stream)
		}
		return err
	}
}

// Remove implements consumer.Durables.
func (g groups) Remove(group string) func(context.Context) error {
	c, ok := g.find(group)
	if !ok {
		return failed(consumer.ErrNotFound)
	}
	w, ok := g.remove(c)
	if !ok {
		return failed(consumer.ErrNotFound)
	}
	return func(ctx context.Context) error {
		g.sweep(c.stream)
		if w == nil {
			return nil
		}
		return w.Wait(ctx)
	}
}
