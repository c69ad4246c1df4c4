package stream

import (
	"maps"
	"slices"
	"time"
)

// Config is a stream's configuration in the form of JetStream's API (ADR-44 for the levels); it is stored like that.
// Durations are in nanoseconds, sizes in bytes, limits of -1 are none.
type Config struct {
	Name         string            `json:"name"`
	Description  string            `json:"description,omitempty"`
	Subjects     []string          `json:"subjects,omitempty"`
	Retention    Retention         `json:"retention"`
	MaxConsumers int               `json:"max_consumers"`
	MaxMsgs      int64             `json:"max_msgs"`
	MaxBytes     int64             `json:"max_bytes"`
	MaxAge       time.Duration     `json:"max_age"`
	MaxMsgsPer   int64             `json:"max_msgs_per_subject"`
	MaxMsgSize   int32             `json:"max_msg_size"`
	Discard      Discard           `json:"discard"`
	DiscardPer   bool              `json:"discard_new_per_subject,omitempty"`
	Storage      Storage           `json:"storage"`
	Replicas     int               `json:"num_replicas"`
	NoAck        bool              `json:"no_ack,omitempty"`
	Duplicates   time.Duration     `json:"duplicate_window,omitempty"`
	Placement    *Placement        `json:"placement,omitempty"`
	Mirror       *Source           `json:"mirror,omitempty"`
	Sources      []*Source         `json:"sources,omitempty"`
	Compression  Compression       `json:"compression"`
	FirstSeq     uint64            `json:"first_seq,omitempty"`
	Transform    *TransformConfig  `json:"subject_transform,omitempty"`
	Republish    *Republish        `json:"republish,omitempty"`
	AllowDirect  bool              `json:"allow_direct"`
	MirrorDirect bool              `json:"mirror_direct"`
	Sealed       bool              `json:"sealed"`
	DenyDelete   bool              `json:"deny_delete"`
	DenyPurge    bool              `json:"deny_purge"`
	AllowRollup  bool              `json:"allow_rollup_hdrs"`
	Limits       ConsumerLimits    `json:"consumer_limits"`
	AllowTTL     bool              `json:"allow_msg_ttl"`
	MarkerTTL    time.Duration     `json:"subject_delete_marker_ttl,omitempty"`
	AllowCounter bool              `json:"allow_msg_counter,omitempty"`
	AllowAtomic  bool              `json:"allow_atomic,omitempty"`
	Schedules    bool              `json:"allow_msg_schedules,omitempty"`
	AllowBatched bool              `json:"allow_batched,omitempty"`
	PersistMode  PersistMode       `json:"persist_mode,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
}

// Placement is where a cluster would put the stream.
type Placement struct {
	Cluster   string   `json:"cluster,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Preferred string   `json:"preferred,omitempty"`
}

// Source is a stream that this one copies.
type Source struct {
	Name       string            `json:"name"`
	StartSeq   uint64            `json:"opt_start_seq,omitempty"`
	StartTime  *time.Time        `json:"opt_start_time,omitempty"`
	Filter     string            `json:"filter_subject,omitempty"`
	Transforms []TransformConfig `json:"subject_transforms,omitempty"`
	External   *External         `json:"external,omitempty"`
	Consumer   *SourceConsumer   `json:"consumer,omitempty"`
}

// External is a stream of another account or domain; it is refused.
type External struct {
	API     string `json:"api"`
	Deliver string `json:"deliver"`
}

// SourceConsumer is a consumer that somebody else made for the copy; it is refused.
type SourceConsumer struct {
	Name           string `json:"name,omitempty"`
	DeliverSubject string `json:"deliver_subject,omitempty"`
}

// TransformConfig maps subjects.
type TransformConfig struct {
	Source      string `json:"src"`
	Destination string `json:"dest"`
}

// Republish repeats stored messages to core subscribers.
type Republish struct {
	Source      string `json:"src,omitempty"`
	Destination string `json:"dest"`
	HeadersOnly bool   `json:"headers_only,omitempty"`
}

// ConsumerLimits bound what consumers may ask for.
type ConsumerLimits struct {
	InactiveThreshold time.Duration `json:"inactive_threshold,omitempty"`
	MaxAckPending     int           `json:"max_ack_pending,omitempty"`
}

// clone copies everything that c points to.
func (c Config) clone() Config {
	c.Subjects = slices.Clone(c.Subjects)
	c.Metadata = maps.Clone(c.Metadata)
	c.Placement = cloned(c.Placement)
	c.Transform = cloned(c.Transform)
	c.Republish = cloned(c.Republish)
	c.Mirror = c.Mirror.clone()
	c.Sources = slices.Clone(c.Sources)
	for i, s := range c.Sources {
		c.Sources[i] = s.clone()
	}
	return c
}

func (s *Source) clone() *Source {
	s = cloned(s)
	if s != nil {
		s.StartTime = cloned(s.StartTime)
		s.Transforms = slices.Clone(s.Transforms)
	}
	return s
}

func cloned[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
