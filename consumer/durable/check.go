package durable

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// Bounds of what a configuration may hold, in bytes, and of time.
const (
	maxName        = 255
	maxDescription = 4 << 10
	maxMetadata    = 128 << 10
	maxGroupName   = 16
	minHeartbeat   = 100 * time.Millisecond
)

// check refuses a configuration that makes no sense in this stream. The order in which the rules are tried is
// nats-server's: clients compare the first error.
func (c *Config) check(s *stream.Config) error {
	rules := []func(*stream.Config) error{
		c.checkNames, c.checkReplicas, c.checkAcks, c.checkDelivery, c.checkLimits, c.checkDirect, c.checkFilters,
		c.checkStart, c.checkRest, c.checkPriority,
	}
	for _, rule := range rules {
		if err := rule(s); err != nil {
			return err
		}
	}
	return nil
}

// validName says that a consumer can have the name: it is one token of a subject, and no path.
func validName(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\r\n\f.*>\\/") }

func (c *Config) checkNames(*stream.Config) error {
	if c.Name != "" && !validName(c.Name) {
		return stream.InvalidConfig(errors.New(`consumer name can not contain '.', '*', '>', '\', '/'`))
	}
	if c.Durable != "" && !validName(c.Durable) {
		return stream.InvalidConfig(errors.New(`consumer durable name can not contain '.', '*', '>', '\', '/'`))
	}
	if len(c.Durable) > maxName || len(c.Name) > maxName {
		return stream.ConsumerNameTooLong(maxName)
	}
	return nil
}

func (c *Config) checkReplicas(s *stream.Config) error {
	switch {
	case c.Replicas > 1:
		return stream.ErrReplicas
	case c.Replicas > max(s.Replicas, 1):
		return stream.ErrConsumerReplicasStream
	case c.Replicas < 0:
		return stream.ErrReplicasNegative
	}
	return nil
}

func (c *Config) checkAcks(*stream.Config) error {
	switch c.AckPolicy {
	case AckNone, AckAll, AckExplicit:
	default:
		return stream.ErrConsumerAckPolicy
	}
	if c.ReplayPolicy != ReplayInstant && c.ReplayPolicy != ReplayOriginal {
		return stream.ErrConsumerReplayPolicy
	}
	for _, wait := range c.Backoff {
		if wait < 0 {
			return stream.ErrConsumerBackoffNegative
		}
	}
	switch {
	case c.AckWait < 0:
		return stream.ErrConsumerAckWait
	case len(c.Backoff) > 0 && c.MaxDeliver != -1 && len(c.Backoff) > c.MaxDeliver:
		return stream.ErrConsumerBackoff
	case len(c.Description) > maxDescription:
		return stream.ConsumerDescriptionTooLong(maxDescription)
	}
	return nil
}

func (c *Config) checkDelivery(s *stream.Config) error {
	if c.push() {
		return c.checkPush(s)
	}
	switch {
	case c.AckPolicy == AckNone && s.Retention == stream.WorkQueue:
		return stream.ErrConsumerPullAck
	case c.RateLimit > 0:
		return stream.ErrConsumerPullRateLimit
	case c.Heartbeat > 0:
		return stream.ErrConsumerHeartbeatPush
	case c.FlowControl:
		return stream.ErrConsumerFlowControlPush
	case c.MaxExpires != 0 && c.MaxExpires < time.Millisecond:
		return stream.ErrConsumerMaxExpires
	}
	return nil
}

func (c *Config) checkPush(s *stream.Config) error {
	switch {
	case strings.ContainsAny(c.DeliverSubject, "*>") && subject.Valid(c.DeliverSubject) && !subject.Literal(c.DeliverSubject):
		return stream.ErrConsumerDeliverWildcards
	case !subject.Literal(c.DeliverSubject), reserved(c.DeliverSubject):
		return stream.ErrConsumerDeliverSubject
	}
	for _, own := range s.Subjects {
		if subject.Match(own, c.DeliverSubject) {
			return stream.ErrConsumerDeliverCycle
		}
	}
	switch {
	case c.MaxWaiting != 0:
		return stream.ErrConsumerPushMaxWaiting
	case c.MaxAckPending > 0 && c.AckPolicy == AckNone:
		return stream.ErrConsumerMaxAckPending
	case c.Heartbeat > 0 && c.Heartbeat < minHeartbeat:
		return stream.ErrConsumerHeartbeatSmall
	}
	return nil
}

// reserved says that a subject means something to JetStream, so that nothing may be delivered there.
func reserved(s string) bool {
	rest, ok := strings.CutPrefix(s, "$JS.")
	if !ok {
		return false
	}
	first, rest, _ := strings.Cut(rest, ".")
	second, _, _ := strings.Cut(rest, ".")
	switch first {
	case "API", "ACK", "FC", "SNAPSHOT", "EVENT":
		return true
	}
	return second == "API"
}

func (c *Config) checkLimits(s *stream.Config) error {
	if most := s.Limits.MaxAckPending; most > 0 && c.MaxAckPending > most {
		return stream.ConsumerMaxAckPendingExcess(most)
	}
	if most := s.Limits.InactiveThreshold; most > 0 && c.InactiveThreshold > most {
		return stream.ConsumerInactiveExcess(most.String())
	}
	return nil
}

func (c *Config) checkDirect(*stream.Config) error {
	switch {
	case c.Direct && !c.push():
		return stream.ErrConsumerDirectPush
	case c.Direct && c.Durable != "":
		return stream.ErrConsumerDirectEphemeral
	}
	return nil
}

func (c *Config) checkFilters(*stream.Config) error {
	invalid := stream.InvalidConfig(errors.New("invalid subject"))
	if c.FilterSubject != "" && len(c.FilterSubjects) > 0 {
		return stream.ErrConsumerTwoFilters
	}
	if c.FilterSubject != "" && !subject.Valid(c.FilterSubject) {
		return invalid
	}
	for _, f := range c.FilterSubjects {
		if f == "" {
			return stream.ErrConsumerEmptyFilter
		}
	}
	for i, f := range c.FilterSubjects {
		if !subject.Valid(f) {
			return invalid
		}
		for j, other := range c.FilterSubjects {
			if i != j && subject.Subset(f, other) {
				return stream.ErrConsumerFiltersOverlap
			}
		}
	}
	return nil
}

// checkStart compares the deliver policy with what says where it begins.
func (c *Config) checkStart(*stream.Config) error {
	names := map[DeliverPolicy]string{
		DeliverAll: "all", DeliverLast: "last", DeliverNew: "new", DeliverLastPerSubject: "last per subject",
		DeliverByStartSeq: "by start sequence", DeliverByStartTime: "by start time",
	}
	name, ok := names[c.DeliverPolicy]
	wrong := func(format, what string) error {
		return stream.ConsumerPolicy(fmt.Errorf("consumer delivery policy is deliver %s, but optional "+format, name, what))
	}
	also, missing := "start %s is also set", "%s is not set"
	bySeq, byTime := c.DeliverPolicy == DeliverByStartSeq, c.DeliverPolicy == DeliverByStartTime
	switch {
	case !ok:
		return stream.ConsumerPolicy(fmt.Errorf("unknown deliver policy %q", c.DeliverPolicy))
	case bySeq && c.StartSeq == 0:
		return wrong(missing, "start sequence")
	case byTime && c.StartTime == nil:
		return wrong(missing, "start time")
	case byTime && c.StartSeq != 0:
		return wrong(also, "start sequence")
	case !bySeq && c.StartSeq > 0:
		return wrong(also, "sequence")
	case !byTime && c.StartTime != nil:
		return wrong(also, "time")
	case c.DeliverPolicy == DeliverLastPerSubject && len(c.filters()) == 0:
		return wrong(missing, "filter subject")
	}
	return nil
}

func (c *Config) checkRest(s *stream.Config) error {
	if _, err := c.sampling(); err != nil {
		return stream.ConsumerSampling(err)
	}
	if c.FlowControl && c.Heartbeat == 0 {
		return stream.ErrConsumerFlowControlHeartbeat
	}
	if c.Durable != "" && c.Name != "" && c.Name != c.Durable {
		return stream.ErrConsumerNames
	}
	size := 0
	for k, v := range c.Metadata {
		size += len(k) + len(v)
	}
	if size > maxMetadata {
		return stream.ConsumerMetadataTooLong(fmt.Sprintf("%dKB", maxMetadata>>10))
	}
	return nil
}

// sampling is the percentage of acknowledgements that are told of.
func (c *Config) sampling() (int, error) {
	if c.SampleFrequency == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(c.SampleFrequency, "%"))
	if err == nil && n < 0 {
		err = errors.New("a negative percentage")
	}
	return n, err
}

func (c *Config) checkPriority(*stream.Config) error {
	switch c.PriorityPolicy {
	case PriorityNone:
		if len(c.PriorityGroups) > 0 {
			return stream.ErrConsumerGroupWithoutPolicy
		}
		if c.PinnedTTL > 0 {
			return stream.ErrConsumerPinnedWithoutPolicy
		}
		return nil
	case PriorityOverflow, PriorityPinned, PriorityPrioritized:
	default:
		return stream.InvalidJSON(fmt.Errorf("can not unmarshal %q", c.PriorityPolicy))
	}
	if c.push() {
		return stream.ErrConsumerPushPriority
	}
	if len(c.PriorityGroups) == 0 {
		return stream.ErrConsumerPriorityWithoutGroup
	}
	for _, g := range c.PriorityGroups {
		if err := checkGroupName(g); err != nil {
			return err
		}
	}
	return nil
}

func checkGroupName(group string) error {
	if group == "" {
		return stream.ErrConsumerEmptyGroup
	}
	for _, r := range group {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("/_=-", r):
		default:
			return stream.ErrConsumerGroupName
		}
	}
	if len(group) > maxGroupName {
		return stream.ErrConsumerGroupName
	}
	return nil
}
