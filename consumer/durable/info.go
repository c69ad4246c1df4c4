package durable

import "time"

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
