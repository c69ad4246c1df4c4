package durable

import (
	"time"
)

// Info is what JetStream's API tells about a consumer.
type Info struct {
	Stream         string          `json:"stream_name"`
	Name           string          `json:"name"`
	Created        time.Time       `json:"created"`
	Config         Config          `json:"config"`
	Delivered      Position        `json:"delivered"`
	AckFloor       Position        `json:"ack_floor"`
	NumAckPending  int             `json:"num_ack_pending"`
	NumRedelivered int             `json:"num_redelivered"`
	NumWaiting     int             `json:"num_waiting"`
	NumPending     uint64          `json:"num_pending"`
	PushBound      bool            `json:"push_bound,omitempty"`
	Paused         bool            `json:"paused,omitempty"`
	PauseRemaining time.Duration   `json:"pause_remaining,omitempty"`
	Time           time.Time       `json:"ts"`
	PriorityGroups []PriorityGroup `json:"priority_groups,omitempty"`
}

// Position is a place in the order of deliveries, and in the stream.
type Position struct {
	Consumer uint64     `json:"consumer_seq"`
	Stream   uint64     `json:"stream_seq"`
	Last     *time.Time `json:"last_active,omitempty"`
}

// PriorityGroup is the state of a group of pull requests.
type PriorityGroup struct {
	Group    string     `json:"group"`
	PinnedID string     `json:"pinned_client_id,omitempty"`
	PinnedAt *time.Time `json:"pinned_ts,omitempty"`
}

// Info tells about the consumer.
func (c *Consumer) Info() Info {
	left := c.freshen()
	c.mu.Lock()
	defer c.mu.Unlock()
	m, now := c.machine, time.Now().UTC()
	config := m.config.clone()
	i := Info{
		Stream:         c.names.stream,
		Name:           c.names.consumer,
		Created:        c.created,
		Config:         config,
		Delivered:      shown(m.delivered, m.last.delivered),
		AckFloor:       shown(m.floor, m.last.acked),
		NumAckPending:  m.pending.len(),
		NumRedelivered: m.numRedelivered(),
		NumWaiting:     m.waiting.len(),
		NumPending:     left,
		PushBound:      m.bound,
		Paused:         config.pausedAt(now),
		Time:           now,
	}
	if i.Paused {
		i.PauseRemaining = config.PauseUntil.Sub(now)
	}
	if len(config.PriorityGroups) > 0 {
		g := PriorityGroup{Group: config.PriorityGroups[0], PinnedID: m.pin.id}
		if m.pin.id != "" {
			at := m.pin.at.UTC()
			g.PinnedAt = &at
		}
		i.PriorityGroups = append(i.PriorityGroups, g)
	}
	return i
}

func shown(p place, last time.Time) Position {
	if last.IsZero() {
		return Position{p.consumer, p.stream, nil}
	}
	last = last.UTC()
	return Position{p.consumer, p.stream, &last}
}

// freshen forgets what the stream does not have any more, and who does not listen any more, and counts the messages that the consumer was not given.
func (c *Consumer) freshen() uint64 {
	state, err := c.stream.State()
	if err != nil || c.place() != nil {
		return 0
	}
	c.mu.Lock()
	now := time.Now()
	if !c.gone {
		c.machine.trimmed(state.First, now)
		c.machine.tick(now, c.all.outlet)
		c.performAll(nil)
	}
	if c.expired || len(c.released) > 0 {
		poke(c.wake)
	}
	c.mu.Unlock()
	c.forgetDeleted(state.Deleted)
	return c.undelivered()
}

// forgetDeleted drops the pending messages that were deleted one by one, if any was since the last time.
func (c *Consumer) forgetDeleted(deleted int) {
	c.mu.Lock()
	var sequences []uint64
	if deleted != c.deleted {
		for e := c.machine.pending.first(); e != nil; e = e.next() {
			sequences = append(sequences, e.stream)
		}
	}
	c.deleted = deleted
	c.mu.Unlock()
	for _, seq := range sequences {
		if c.holds(seq) {
			continue
		}
		c.mu.Lock()
		if !c.gone && c.machine.pending.get(seq) != nil {
			c.machine.missing(seq, time.Now())
			c.performAll(nil)
		}
		c.mu.Unlock()
	}
}
