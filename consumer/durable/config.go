package durable

import (
	"maps"
	"time"
)

// Config is a consumer's configuration in the form of JetStream's API; it is stored like that. Durations are in
// nanoseconds.
type Config struct {
	Durable           string            `json:"durable_name,omitempty"`
	Name              string            `json:"name,omitempty"`
	Description       string            `json:"description,omitempty"`
	DeliverPolicy     DeliverPolicy     `json:"deliver_policy"`
	StartSeq          uint64            `json:"opt_start_seq,omitempty"`
	StartTime         *time.Time        `json:"opt_start_time,omitempty"`
	AckPolicy         AckPolicy         `json:"ack_policy"`
	AckWait           time.Duration     `json:"ack_wait,omitempty"`
	MaxDeliver        int               `json:"max_deliver,omitempty"`
	Backoff           []time.Duration   `json:"backoff,omitempty"`
	FilterSubject     string            `json:"filter_subject,omitempty"`
	FilterSubjects    []string          `json:"filter_subjects,omitempty"`
	ReplayPolicy      ReplayPolicy      `json:"replay_policy"`
	RateLimit         uint64            `json:"rate_limit_bps,omitempty"` // bits per second
	SampleFrequency   string            `json:"sample_freq,omitempty"`
	MaxWaiting        int               `json:"max_waiting,omitempty"`
	MaxAckPending     int               `json:"max_ack_pending,omitempty"`
	FlowControl       bool              `json:"flow_control,omitempty"`
	HeadersOnly       bool              `json:"headers_only,omitempty"`
	MaxBatch          int               `json:"max_batch,omitempty"`
	MaxExpires        time.Duration     `json:"max_expires,omitempty"`
	MaxBytes          int               `json:"max_bytes,omitempty"`
	DeliverSubject    string            `json:"deliver_subject,omitempty"`
	DeliverGroup      string            `json:"deliver_group,omitempty"`
	Heartbeat         time.Duration     `json:"idle_heartbeat,omitempty"`
	InactiveThreshold time.Duration     `json:"inactive_threshold,omitempty"`
	Replicas          int               `json:"num_replicas"`
	MemoryStorage     bool              `json:"mem_storage,omitempty"`
	Direct            bool              `json:"direct,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	PauseUntil        *time.Time        `json:"pause_until,omitempty"`
	PriorityGroups    []string          `json:"priority_groups,omitempty"`
	PriorityPolicy    PriorityPolicy    `json:"priority_policy,omitempty"`
	PinnedTTL         time.Duration     `json:"priority_timeout,omitempty"`
}

// Words of the configuration, as they stand in JSON.
type (
	DeliverPolicy  string
	AckPolicy      string
	ReplayPolicy   string
	PriorityPolicy string
)

const (
	DeliverAll            DeliverPolicy = "all"
	DeliverLast           DeliverPolicy = "last"
	DeliverNew            DeliverPolicy = "new"
	DeliverByStartSeq     DeliverPolicy = "by_start_sequence"
	DeliverByStartTime    DeliverPolicy = "by_start_time"
	DeliverLastPerSubject DeliverPolicy = "last_per_subject"

	AckNone     AckPolicy = "none"
	AckAll      AckPolicy = "all"
	AckExplicit AckPolicy = "explicit"

	ReplayInstant  ReplayPolicy = "instant"
	ReplayOriginal ReplayPolicy = "original"

	PriorityNone        PriorityPolicy = "" // "none" is read as well
	PriorityOverflow    PriorityPolicy = "overflow"
	PriorityPinned      PriorityPolicy = "pinned_client"
	PriorityPrioritized PriorityPolicy = "prioritized"
)

// filters are the subjects that the consumer wants; none for all.
func (c *Config) filters() []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// push says that messages are sent unasked.
func (c *Config) push() bool { return c.DeliverSubject != "" }

// acks says that deliveries wait for acknowledgements.
func (c *Config) acks() bool { return c.AckPolicy != AckNone }

// pausedAt says that deliveries rest at this time.
func (c *Config) pausedAt(now time.Time) bool {
	return c.PauseUntil != nil && now.Before(*c.PauseUntil)
}

// clone is a copy that shares nothing which anybody changes.
func (c *Config) clone() Config {
	copied := *c
	copied.Metadata = maps.Clone(c.Metadata)
	return copied
}
