package durable

import (
	"errors"

	"brokerd/topic/stream"
)

// Pedantic says what Create would put right in the configuration of a consumer, whose stream has these limits, without a
// word: a pedantic request does not want that. Errors: *stream.Error 10157.
func (c Config) Pedantic(limits stream.ConsumerLimits) error {
	ackWait := c.AckWait
	if ackWait == 0 && c.acks() {
		ackWait = defaultAckWait
	}
	for _, fault := range []struct {
		is   bool
		text string
	}{
		{c.MaxDeliver < -1, "max_deliver must be set to -1"},
		{c.MaxWaiting < 0, "max_waiting must not be negative"},
		{c.MaxAckPending < -1, "max_ack_pending must be set to -1"},
		{c.MaxBatch < 0, "max_batch must not be negative"},
		{c.MaxExpires < 0, "max_expires must not be negative"},
		{c.MaxBytes < 0, "max_bytes must not be negative"},
		{c.Heartbeat < 0, "idle_heartbeat must not be negative"},
		{c.InactiveThreshold < 0, "inactive_threshold must not be negative"},
		{c.PinnedTTL < 0, "priority_timeout must not be negative"},
		{len(c.Backoff) > 0 && ackWait != c.Backoff[0], "first backoff value has to equal batch AckWait"},
		{c.MaxAckPending == 0 && limits.MaxAckPending > 0, "max_ack_pending must be set if it's configured in stream limits"},
		{c.InactiveThreshold == 0 && limits.InactiveThreshold > 0, "inactive_threshold must be set if it's configured in stream limits"},
	} {
		if fault.is {
			return stream.Pedantic(errors.New(fault.text))
		}
	}
	return nil
}
