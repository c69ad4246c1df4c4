package durable

import "time"

// advisory is an event that is published for those who watch over consumers. Its JSON is that of nats-server.
type advisory interface {
	// subject is where it is published, without the stream and the consumer at its end.
	subject() string
}

const advisoryPrefix = "$JS.EVENT.ADVISORY.CONSUMER."

// event is how every advisory begins.
type event struct {
	Type     string    `json:"type"`
	ID       string    `json:"id"`
	Time     time.Time `json:"timestamp"`
	Stream   string    `json:"stream"`
	Consumer string    `json:"consumer"`
}

func (m *machine) event(kind string, now time.Time) event {
	return event{"io.nats.jetstream." + kind, m.newID(), now.UTC(), m.names.stream, m.names.consumer}
}

type (
	action struct {
		event
		Action string `json:"action"` // create or delete
	}
	pausing struct {
		event
		Paused     bool      `json:"paused"`
		PauseUntil time.Time `json:"pause_until"`
	}
	ackMetric struct {
		event
		ConsumerSeq uint64        `json:"consumer_seq"`
		StreamSeq   uint64        `json:"stream_seq"`
		Delay       time.Duration `json:"ack_time"`
		Deliveries  uint64        `json:"deliveries"`
	}
	exceeded struct {
		event
		StreamSeq  uint64 `json:"stream_seq"`
		Deliveries uint64 `json:"deliveries"`
	}
	naked struct {
		event
		ConsumerSeq uint64 `json:"consumer_seq"`
		StreamSeq   uint64 `json:"stream_seq"`
		Deliveries  uint64 `json:"deliveries"`
	}
	terminated struct {
		event
		ConsumerSeq uint64 `json:"consumer_seq"`
		StreamSeq   uint64 `json:"stream_seq"`
		Deliveries  uint64 `json:"deliveries"`
		Reason      string `json:"reason,omitempty"`
	}
	pinning struct {
		event
		Group string `json:"group"`
		ID    string `json:"pinned_id"`
	}
	unpinning struct {
		event
		Group  string `json:"group"`
		Reason string `json:"reason"` // admin or timeout
	}
)

func (a action) subject() string {
	if a.Action == "create" {
		return advisoryPrefix + "CREATED"
	}
	return advisoryPrefix + "DELETED"
}
func (pausing) subject() string    { return advisoryPrefix + "PAUSE" }
func (ackMetric) subject() string  { return "$JS.EVENT.METRIC.CONSUMER.ACK" }
func (exceeded) subject() string   { return advisoryPrefix + "MAX_DELIVERIES" }
func (naked) subject() string      { return advisoryPrefix + "MSG_NAKED" }
func (terminated) subject() string { return advisoryPrefix + "MSG_TERMINATED" }
func (pinning) subject() string    { return advisoryPrefix + "PINNED" }
func (unpinning) subject() string  { return advisoryPrefix + "UNPINNED" }

func (m *machine) adviseAction(what string, now time.Time) {
	m.advise(action{m.event("advisory.v1.consumer_action", now), what})
}

func (m *machine) advisePause(now time.Time) {
	a := pausing{event: m.event("advisory.v1.consumer_pause", now), Paused: m.config.pausedAt(now)}
	if m.config.PauseUntil != nil {
		a.PauseUntil = *m.config.PauseUntil
	}
	m.advise(a)
}

func (m *machine) adviseMaxDeliver(e *entry, now time.Time) {
	m.advise(exceeded{m.event("advisory.v1.max_deliver", now), e.stream, e.deliveries})
}

func (m *machine) adviseNak(a ack, now time.Time) {
	m.advise(naked{m.event("advisory.v1.nak", now), a.place.consumer, a.place.stream, a.deliveries})
}

func (m *machine) adviseTerminated(at place, deliveries uint64, reason string, now time.Time) {
	m.advise(terminated{m.event("advisory.v1.terminated", now), at.consumer, at.stream, deliveries, reason})
}

func (m *machine) advisePinned(now time.Time) {
	m.advise(pinning{m.event("advisory.v1.consumer_group_pinned", now), m.config.PriorityGroups[0], m.pin.id})
}

func (m *machine) adviseUnpinned(reason string, now time.Time) {
	m.advise(unpinning{m.event("advisory.v1.consumer_group_unpinned", now), m.config.PriorityGroups[0], reason})
}

// sample tells of an acknowledgement, if this one is among those that are told of: each hundredth that sample_freq names,
// spread evenly.
func (m *machine) sample(e *entry, a ack, now time.Time) {
	percent, err := m.config.sampling()
	if err != nil || percent <= 0 {
		return
	}
	if n := e.stream * uint64(min(percent, 100)) / 100; n == (e.stream-1)*uint64(min(percent, 100))/100 {
		return
	}
	m.advise(ackMetric{m.event("metric.v1.consumer_ack", now), a.place.consumer, e.stream, now.Sub(e.sent), a.deliveries})
}
