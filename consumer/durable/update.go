package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"brokerd/topic/stream"
)

// equal compares what clients can set.
func (c *Config) equal(other *Config) bool {
	a, b := c.clone(), other.clone()
	stripMetadata(a.Metadata)
	stripMetadata(b.Metadata)
	if !maps.Equal(a.Metadata, b.Metadata) || !sameTime(a.StartTime, b.StartTime) || !sameTime(a.PauseUntil, b.PauseUntil) {
		return false
	}
	a.Metadata, a.StartTime, a.PauseUntil = nil, nil, nil
	b.Metadata, b.StartTime, b.PauseUntil = nil, nil, nil
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// checkUpdate says whether the configuration may become the next one. Bound says that somebody listens to the deliver
// subject.
func (c *Config) checkUpdate(next *Config, bound bool) error {
	fixed := []struct {
		same bool
		text string
	}{
		{c.DeliverPolicy == next.DeliverPolicy, "deliver policy can not be updated"},
		{c.MemoryStorage == next.MemoryStorage, "storage type can not be updated"},
		{c.Direct == next.Direct, "direct can not be updated"},
		{c.StartSeq == next.StartSeq, "start sequence can not be updated"},
		{sameTime(c.StartTime, next.StartTime), "start time can not be updated"},
		{c.AckPolicy == next.AckPolicy, "ack policy can not be updated"},
		{c.ReplayPolicy == next.ReplayPolicy, "replay policy can not be updated"},
		{c.Heartbeat == next.Heartbeat, "heart beats can not be updated"},
		{c.FlowControl == next.FlowControl, "flow control can not be updated"},
		{c.push() || !next.push(), "can not update pull consumer to push based"},
		{!c.push() || next.push(), "can not update push consumer to pull based"},
	}
	for _, f := range fixed {
		if !f.same {
			return stream.ConsumerCreateFailed(errors.New(f.text))
		}
	}
	if c.DeliverSubject != next.DeliverSubject && bound {
		return stream.ErrConsumerNameExists
	}
	if c.MaxWaiting != next.MaxWaiting {
		return stream.ConsumerCreateFailed(errors.New("max waiting can not be updated"))
	}
	return nil
}
