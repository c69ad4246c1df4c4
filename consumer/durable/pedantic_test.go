package durable

import (
	"testing"
	"time"

	"brokerd/topic/stream"
)

func TestPedantic(t *testing.T) {
	limits := stream.ConsumerLimits{MaxAckPending: 10, InactiveThreshold: time.Minute}
	right := Config{MaxDeliver: -1, MaxAckPending: 5, InactiveThreshold: time.Second, AckWait: time.Second, Backoff: []time.Duration{time.Second}}
	if err := right.Pedantic(limits); err != nil {
		t.Errorf("a right configuration: %v", err)
	}
	for name, wrong := range map[string]func(*Config){
		"max_deliver":        func(c *Config) { c.MaxDeliver = -2 },
		"max_waiting":        func(c *Config) { c.MaxWaiting = -1 },
		"max_ack_pending":    func(c *Config) { c.MaxAckPending = -2 },
		"max_batch":          func(c *Config) { c.MaxBatch = -1 },
		"max_expires":        func(c *Config) { c.MaxExpires = -1 },
		"max_bytes":          func(c *Config) { c.MaxBytes = -1 },
		"idle_heartbeat":     func(c *Config) { c.Heartbeat = -1 },
		"inactive_threshold": func(c *Config) { c.InactiveThreshold = -1 },
		"priority_timeout":   func(c *Config) { c.PinnedTTL = -1 },
		"backoff":            func(c *Config) { c.Backoff = []time.Duration{time.Minute} },
		"limit of pending":   func(c *Config) { c.MaxAckPending = 0 },
		"limit of inactive":  func(c *Config) { c.InactiveThreshold = 0 },
	} {
		c := right.clone()
		wrong(&c)
		if e, ok := c.Pedantic(limits).(*stream.Error); !ok || e.ErrCode != 10157 {
			t.Errorf("%s: %v", name, c.Pedantic(limits))
		}
	}
}
