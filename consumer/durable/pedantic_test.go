package durable

import (
	"testing"
	"time"

	"brokerd/topic/stream"
)

func TestPedantic(t *testing.T) {
	limits := stream.ConsumerLimits{MaxAckPending: 10, InactiveThreshold: time.Second}
	good := Config{AckPolicy: AckExplicit, MaxAckPending: 5, InactiveThreshold: time.Second}
	if err := good.Pedantic(limits); err != nil {
		t.Error(err)
	}
	for want, edit := range map[string]func(*Config){
		"max_deliver must be set to -1":                                      func(c *Config) { c.MaxDeliver = -2 },
		"max_waiting must not be negative":                                   func(c *Config) { c.MaxWaiting = -1 },
		"max_ack_pending must be set to -1":                                  func(c *Config) { c.MaxAckPending = -2 },
		"max_batch must not be negative":                                     func(c *Config) { c.MaxBatch = -1 },
		"max_expires must not be negative":                                   func(c *Config) { c.MaxExpires = -1 },
		"max_bytes must not be negative":                                     func(c *Config) { c.MaxBytes = -1 },
		"idle_heartbeat must not be negative":                                func(c *Config) { c.Heartbeat = -1 },
		"inactive_threshold must not be negative":                            func(c *Config) { c.InactiveThreshold = -1 },
		"priority_timeout must not be negative":                              func(c *Config) { c.PinnedTTL = -1 },
		"first backoff value has to equal batch AckWait":                     func(c *Config) { c.Backoff = []time.Duration{time.Second} },
		"max_ack_pending must be set if it's configured in stream limits":    func(c *Config) { c.MaxAckPending = 0 },
		"inactive_threshold must be set if it's configured in stream limits": func(c *Config) { c.InactiveThreshold = 0 },
	} {
		c := good
		edit(&c)
		if err := c.Pedantic(limits); err == nil || err.Error() != "pedantic mode: "+want+" (10157)" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
