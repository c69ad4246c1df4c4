package durable

import (
	"time"

	"brokerd/topic/stream"
)

// What a configuration has where it says nothing.
const (
	defaultAckWait       = 30 * time.Second
	defaultMaxAckPending = 1000
	defaultMaxWaiting    = 512
	defaultInactive      = 5 * time.Second // of consumers without a durable name
	defaultPinned        = 2 * time.Minute
)

// complete fills in every default, in the way of nats-server: what is below its lowest value becomes that value.
func (c *Config) complete(limits stream.ConsumerLimits) {
	c.completeWords()
	if c.MaxDeliver == 0 || c.MaxDeliver < -1 {
		c.MaxDeliver = -1
	}
	c.MaxWaiting = max(c.MaxWaiting, 0)
	c.MaxAckPending = max(c.MaxAckPending, -1)
	c.MaxBatch = max(c.MaxBatch, 0)
	c.MaxExpires = max(c.MaxExpires, 0)
	c.MaxBytes = max(c.MaxBytes, 0)
	c.Heartbeat = max(c.Heartbeat, 0)
	c.InactiveThreshold = max(c.InactiveThreshold, 0)
	c.PinnedTTL = max(c.PinnedTTL, 0)
	if !c.push() && c.MaxWaiting == 0 {
		c.MaxWaiting = defaultMaxWaiting
	}
	if c.AckWait == 0 && c.acks() {
		c.AckWait = defaultAckWait
	}
	if len(c.Backoff) > 0 {
		c.AckWait = c.Backoff[0]
	}
	if c.MaxAckPending == 0 {
		c.MaxAckPending = limits.MaxAckPending
	}
	if c.MaxAckPending == 0 && c.acks() {
		c.MaxAckPending = defaultMaxAckPending
	}
	if c.InactiveThreshold == 0 {
		c.InactiveThreshold = limits.InactiveThreshold
	}
	if c.PriorityPolicy == PriorityPinned && c.PinnedTTL == 0 {
		c.PinnedTTL = defaultPinned
	}
}

func (c *Config) completeWords() {
	if c.DeliverPolicy == "" {
		c.DeliverPolicy = DeliverAll
	}
	if c.AckPolicy == "" {
		c.AckPolicy = AckNone
	}
	if c.ReplayPolicy == "" {
		c.ReplayPolicy = ReplayInstant
	}
	if c.PriorityPolicy == "none" {
		c.PriorityPolicy = PriorityNone
	}
	for _, t := range []**time.Time{&c.StartTime, &c.PauseUntil} {
		if *t != nil {
			utc := (*t).UTC()
			*t = &utc
		}
	}
}
