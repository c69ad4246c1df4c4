package durable

import (
	"errors"

	"brokerd/topic/stream"
)

// Pedantic refuses what Create would put right without a word, for a stream with these limits. Errors: *stream.Error 10157.
func (c Config) Pedantic(limits stream.ConsumerLimits) error {
	for _, wrong := range []struct {
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
		{len(c.Backoff) > 0 && c.Backoff[0] != c.AckWait, "first backoff value has to equal batch AckWait"},
		{c.MaxAckPending == 0 && limits.MaxAckPending > 0, "max_ack_pending must be set if it's configured in stream limits"},
		{c.InactiveThreshold == 0 && limits.InactiveThreshold > 0, "inactive_threshold must be set if it's configured in stream limits"},
	} {
		if wrong.is {
			return stream.Pedantic(errors.New(wrong.text))
		}
	}
	return nil
}
