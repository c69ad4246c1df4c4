package consumer

import (
	"fmt"
	"regexp"
	"time"
)

// What a member puts in the place of its epoch to come and to go.
const (
	JoinEpoch  int32 = 0
	LeaveEpoch int32 = -1
	AwayEpoch  int32 = -2 // a static member that will come back: its partitions are kept for it
)

// HeartbeatRequest is what a member of a consumer group says (KIP-848). What did not change may be left out, but not when
// it joins.
type HeartbeatRequest struct {
	Group      string
	MemberID   string // made by the client; it may be "" when the member joins and gets one
	Epoch      int32  // JoinEpoch, LeaveEpoch, AwayEpoch or the member's epoch
	InstanceID string // "" for a dynamic member (KIP-345), or as before
	RackID     string // "" is as before
	ClientID   string
	Host       string

	RebalanceTimeout time.Duration // for giving up partitions; negative is as before
	Topics           []string      // nil is as before
	Regex            *string       // of whole topic names, in RE2 syntax; nil is as before, "" matches nothing
	Assignor         string        // "" is as before
	Owned            []Assigned    // the partitions that the client has; nil is as before
}

// HeartbeatResponse is what the member is to do.
type HeartbeatResponse struct {
	MemberID   string
	Epoch      int32
	Each       time.Duration // between heartbeats
	Assignment []Assigned    // all that the member is to have now; nil is as before
}

// check refuses what no group would take.
func (r *HeartbeatRequest) check() error {
	invalid := func(what string) error { return fmt.Errorf("%w: %s", ErrInvalidHeartbeat, what) }
	switch {
	case r.Epoch < AwayEpoch:
		return invalid("there is no such epoch")
	case r.MemberID == "" && r.Epoch != JoinEpoch:
		return invalid("no member id")
	case max(len(r.MemberID), len(r.InstanceID), len(r.RackID)) > MaxMemberID:
		return invalid("an id that is too long")
	case r.Epoch == AwayEpoch && r.InstanceID == "":
		return invalid("only static members can be away")
	case r.Assignor != "" && !knownAssignor(r.Assignor):
		return fmt.Errorf("%w: %q, there are %s and %s", ErrUnknownAssignor, r.Assignor, uniformAssignor, rangeAssignor)
	case r.interestSize() > MaxSubscription:
		return ErrTooLarge
	}
	if r.Epoch == JoinEpoch {
		switch {
		case r.RebalanceTimeout <= 0:
			return invalid("no rebalance timeout when joining")
		case r.Owned == nil || len(r.Owned) > 0:
			return invalid("a member has no partitions when it joins")
		case r.Topics == nil && r.Regex == nil:
			return invalid("no subscription when joining")
		}
	}
	if r.Regex != nil {
		if _, err := wholeName(*r.Regex); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidRegex, err)
		}
	}
	return nil
}

// interestSize is how many bytes are kept of r's subscription.
func (r *HeartbeatRequest) interestSize() int {
	n := 0
	if r.Regex != nil {
		n = len(*r.Regex)
	}
	for _, name := range r.Topics {
		n += len(name)
	}
	return n
}

// wholeName compiles the regex of a subscription, which has to match all of a name. Its brackets have to be in order
// without those that are put around it.
func wholeName(source string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(source); err != nil {
		return nil, err
	}
	return regexp.Compile("^(?:" + source + ")$")
}

// full says that r states everything, as clients do after they did not get an answer.
func (r *HeartbeatRequest) full() bool {
	return r.Epoch == JoinEpoch || r.RebalanceTimeout > 0 && (r.Topics != nil || r.Regex != nil) && r.Owned != nil
}

// heartbeat takes what a member says, and answers with what it is to have. r has passed its check.
func (g *consumerGroup) heartbeat(r *HeartbeatRequest, c *catalog, now time.Time) (*HeartbeatResponse, error) {
	if r.Epoch == LeaveEpoch || r.Epoch == AwayEpoch {
		return g.leave(r, now)
	}
	recognize := g.recognize
	if r.Epoch == JoinEpoch {
		recognize = g.admit
	}
	m, err := recognize(r)
	if err != nil {
		return nil, err
	}
	had, lost := m.assigned, m.epoch != r.Epoch
	if changed := g.update(m, r); g.topicsChanged(c) || changed {
		g.bump()
	}
	g.retarget(c)
	g.reconcile(m, r, now)
	m.expires = now.Add(g.settings.ConsumerSession)
	g.wakeBy(m.expires)

	resp := &HeartbeatResponse{MemberID: m.id, Epoch: m.epoch, Each: g.settings.ConsumerHeartbeat}
	if r.full() || lost || !m.assigned.equal(had) {
		resp.Assignment = m.assigned.byTopic()
	}
	return resp, nil
}

// recognize finds the member that a heartbeat comes from. One with the epoch before the member's is from a client that
// did not get the last answer; it is in order if the client has nothing that the member does not.
func (g *consumerGroup) recognize(r *HeartbeatRequest) (*consumerMember, error) {
	m, err := g.find(r.MemberID, r.InstanceID)
	if err != nil {
		return nil, err
	}
	missed := r.Epoch < m.epoch && r.Epoch == m.previous && r.Owned != nil && placesOf(r.Owned).within(m.assigned)
	switch {
	case r.Epoch != m.epoch && !missed:
		return nil, fmt.Errorf("%w: it is at %d, not %d", ErrFencedEpoch, m.epoch, r.Epoch)
	case r.interestSize() > m.size && !g.hasRoom(r, m):
		return nil, ErrGroupFull
	}
	return m, nil
}

// admit takes in the member that joins with r: a new one, a static one that comes back under a new id, or one that starts
// again because it did not get an answer or was fenced. The client has no partitions, but those that the member had are
// kept for it.
func (g *consumerGroup) admit(r *HeartbeatRequest) (*consumerMember, error) {
	m := g.members[r.MemberID]
	if owner, ok := g.static[r.InstanceID]; ok && owner != r.MemberID {
		if m != nil {
			return nil, ErrFencedInstance
		}
		m = g.members[owner]
		if m.epoch != AwayEpoch {
			return nil, fmt.Errorf("%w: member %s", ErrUnreleasedInstance, owner)
		}
	} else if m != nil && r.InstanceID != "" && m.instance != r.InstanceID {
		return nil, ErrFencedInstance
	}
	if !g.hasRoom(r, m) {
		return nil, ErrGroupFull
	}
	if m == nil {
		m = &consumerMember{}
	} else {
		delete(g.members, m.id)
		g.touch(m.id)
	}
	m.id, m.epoch, m.previous, m.since = r.MemberID, JoinEpoch, JoinEpoch, nil
	g.members[m.id] = m
	if r.InstanceID != "" {
		g.static[r.InstanceID] = m.id
	}
	g.touch(m.id)
	return m, nil
}

// hasRoom says whether r fits into the limits on members and on what they bring. A member that is in stays in.
func (g *consumerGroup) hasRoom(r *HeartbeatRequest, self *consumerMember) bool {
	if self == nil && len(g.members) >= g.settings.MaxMembers {
		return false
	}
	size := r.interestSize()
	for _, m := range g.members {
		if m != self {
			size += m.size
		}
	}
	return size <= MaxGroupBytes
}

// update takes over what r says of its member, and says whether the subscription is another one.
func (g *consumerGroup) update(m *consumerMember, r *HeartbeatRequest) bool {
	next := m.profile
	next.client, next.host = r.ClientID, r.Host
	set := func(v *string, to string) {
		if to != "" {
			*v = to
		}
	}
	set(&next.instance, r.InstanceID)
	set(&next.rack, r.RackID)
	set(&next.assignor, r.Assignor)
	if r.RebalanceTimeout > 0 {
		next.rebalance = r.RebalanceTimeout
	}
	wants := m.interest
	if r.Epoch == JoinEpoch {
		wants = interest{}
	}
	if r.Topics != nil {
		wants.names = r.Topics
	}
	if r.Regex != nil {
		wants.regex = *r.Regex
	}
	if r.Topics != nil || r.Regex != nil {
		wants = newInterest(wants.names, wants.regex)
	}
	changed := wants.key != m.key // also for a new member, which has none
	if changed || next != m.profile {
		g.touch(m.id)
	}
	m.profile, m.interest = next, wants
	return changed
}

// leave lets a member go, for good or until it comes back.
func (g *consumerGroup) leave(r *HeartbeatRequest, now time.Time) (*HeartbeatResponse, error) {
	m, err := g.find(r.MemberID, r.InstanceID)
	if err != nil {
		return nil, err
	}
	if r.Epoch == AwayEpoch {
		m.epoch = AwayEpoch
		m.revokeBy = time.Time{}
		m.expires = now.Add(g.settings.ConsumerSession)
		g.hold(m, m.assigned, nil)
		g.touch(m.id)
	} else {
		g.drop(m)
		g.left(now)
	}
	return &HeartbeatResponse{MemberID: m.id, Epoch: r.Epoch, Each: g.settings.ConsumerHeartbeat}, nil
}
