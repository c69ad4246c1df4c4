package consumer

import (
	"errors"
	"fmt"
	"time"
)

// Bounds on what a request may bring.
const (
	MaxGroupID      = 1024     // bytes of a group id
	MaxMemberID     = 1024     // bytes of the ids that members of consumer groups choose for themselves
	MaxMetadata     = 4096     // bytes of the text that goes with an offset (offset.metadata.max.bytes)
	MaxSubscription = 1 << 20  // bytes of all protocols of one join
	MaxGroupBytes   = 64 << 20 // bytes of all subscriptions of one group: a leader gets them in one answer
	MaxProtocols    = 100      // protocols of one join
)

// newMemberTimeout is how long the first join of a member may be parked. Its client may have given up and come back
// under another id, and then nobody would ever answer for this one.
const newMemberTimeout = 5 * time.Minute

// Settings are the rules that all groups share. Kafka's names are given where there is one.
type Settings struct {
	InitialDelay time.Duration // group.initial.rebalance.delay.ms: how long an empty group waits for more members
	MinSession   time.Duration // group.min.session.timeout.ms
	MaxSession   time.Duration // group.max.session.timeout.ms
	MaxMembers   int           // group.max.size, also of consumer groups
	Retention    time.Duration // offsets.retention.minutes: how long the offsets of an empty group are kept
	SweepEach    time.Duration // offsets.retention.check.interval.ms

	ConsumerSession   time.Duration // group.consumer.session.timeout.ms
	ConsumerHeartbeat time.Duration // group.consumer.heartbeat.interval.ms
}

// DefaultSettings are Kafka's, but for the number of members, which has a limit here.
func DefaultSettings() Settings {
	return Settings{
		InitialDelay: 3 * time.Second,
		MinSession:   6 * time.Second,
		MaxSession:   30 * time.Minute,
		MaxMembers:   10_000,
		Retention:    7 * 24 * time.Hour,
		SweepEach:    10 * time.Minute,

		ConsumerSession:   45 * time.Second,
		ConsumerHeartbeat: 5 * time.Second,
	}
}

func (s Settings) validate() error {
	var errs []error
	check := func(ok bool, name string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("consumer: setting %s: %v is out of range", name, value))
		}
	}
	check(s.InitialDelay >= 0, "initial rebalance delay", s.InitialDelay)
	check(s.MinSession > 0, "minimum session timeout", s.MinSession)
	check(s.MaxSession >= s.MinSession, "maximum session timeout", s.MaxSession)
	check(s.MaxMembers > 0, "maximum group size", s.MaxMembers)
	check(s.Retention > 0, "offsets retention", s.Retention)
	check(s.SweepEach > 0, "offsets retention check interval", s.SweepEach)
	check(s.ConsumerHeartbeat >= time.Millisecond, "consumer heartbeat interval", s.ConsumerHeartbeat)
	check(s.ConsumerSession > s.ConsumerHeartbeat, "consumer session timeout", s.ConsumerSession)
	return errors.Join(errs...)
}
