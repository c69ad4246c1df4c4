package consumer

import (
	"maps"
	"slices"
	"time"
)

// consumerGroup is one consumer group of the type "consumer" (KIP-848) as a pure state machine: the broker assigns, and
// everything is done by heartbeats, which are answered at once. Each event is a method (heartbeat, mayCommit, tick) that
// takes the topics and the time as arguments and may leave an output, which the shell collects with drain. The machine
// holds no lock, reads no clock and starts nothing.
//
// There are three epochs, and none goes back while there are members. The group's grows when members come and go, when
// their subscriptions change and when the topics do. With the next heartbeat every member gets a target, and the epoch of
// the targets is the group's. A member's epoch is that of the targets it has been brought up to:
//
//	                    gives up what is not                  nobody else has
//	behind its target ------------------------> up to date -------------------> has all of its target
//	   ^      waits until the client confirms       |     takes what is free,              |
//	   |                                            |     one heartbeat at a time          |
//	   +---- new targets ---------------------------+--------------------------------------+
//
// So no partition ever belongs to two members: one that a member gives up is held by it until its client confirmed that.
type consumerGroup struct {
	settings Settings

	epoch       int32
	targetEpoch int32
	topics      fingerprint // of what the targets were made of
	checked     uint64      // the catalog whose topics were compared with it; 0 is none
	emptySince  time.Time

	members map[string]*consumerMember
	static  map[string]string         // instance id to member id
	holders map[place]*consumerMember // who has a place assigned, or still has to give it up

	wake time.Time // not later than any member's deadline; zero when there is none
	out  output
}

// consumerMember is one member of a consumer group. Its places are disjoint from those of all other members.
type consumerMember struct {
	id string
	profile
	interest

	epoch    int32 // AwayEpoch for a static member that will come back
	previous int32 // the epoch before, which a client still has if an answer got lost

	target   places          // what it is to have in the end
	assigned places          // what its client was told to have
	revoking places          // what its client was told to give up, and may still use
	since    map[place]int32 // the epoch at which it got each of assigned and revoking

	expires  time.Time // end of the session
	revokeBy time.Time // when revoking has to be confirmed; zero while there is nothing
}

// profile is what a member says of itself.
type profile struct {
	instance, rack string
	client, host   string
	assignor       string // "" for any
	rebalance      time.Duration
}

func newConsumerGroup(s Settings) *consumerGroup {
	return &consumerGroup{
		settings: s,
		members:  map[string]*consumerMember{},
		static:   map[string]string{},
		holders:  map[place]*consumerMember{},
	}
}

func (g *consumerGroup) status() status {
	return status{
		kind:         ConsumerType,
		protocolType: consumerProtocol,
		state:        g.state(),
		members:      len(g.members),
		emptySince:   g.emptySince,
	}
}

func (g *consumerGroup) state() State {
	switch {
	case len(g.members) == 0:
		return Empty
	case g.epoch != g.targetEpoch:
		return Assigning
	}
	for _, m := range g.members {
		if m.epoch != g.targetEpoch || !m.assigned.equal(m.target) {
			return Reconciling
		}
	}
	return Stable
}

func (g *consumerGroup) drain() output {
	out := g.out
	g.out = output{}
	return out
}

// sorted returns the members ordered by id.
func (g *consumerGroup) sorted() []*consumerMember {
	list := make([]*consumerMember, 0, len(g.members))
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		list = append(list, g.members[id])
	}
	return list
}

// find checks that a request comes from a current member.
func (g *consumerGroup) find(id, instance string) (*consumerMember, error) {
	return current(g.members, g.static, id, instance)
}

// touch has the member of an id stored, or removed if there is none any more.
func (g *consumerGroup) touch(id string) {
	g.out.save = true
	g.out.members = append(g.out.members, id)
}

// drop forgets a member, which frees its places at once. bump has to follow.
func (g *consumerGroup) drop(m *consumerMember) {
	g.hold(m, nil, nil)
	delete(g.members, m.id)
	if m.instance != "" {
		delete(g.static, m.instance)
	}
	g.touch(m.id)
}

// bump asks for new targets.
func (g *consumerGroup) bump() {
	g.epoch++
	g.out.save = true
}

// left goes on after members were dropped.
func (g *consumerGroup) left(now time.Time) {
	g.bump()
	if len(g.members) == 0 {
		g.emptySince = now
	}
}

// mayCommit takes offsets of the member's epoch. Those of an older one, from a client that has not yet seen the answer to
// its heartbeat, are taken for partitions that the member has had since then (KIP-1251). It does not keep the member
// alive.
func (g *consumerGroup) mayCommit(r *CommitRequest, _ time.Time) (fence, error) {
	if r.Generation < 0 && len(g.members) == 0 {
		return anyPlace, nil
	}
	m, ok := g.members[r.MemberID]
	switch {
	case !ok:
		return nil, ErrUnknownMember
	case !r.MemberEpochs:
		return nil, ErrClientTooOld
	case r.Generation > m.epoch:
		return nil, ErrStaleEpoch
	case r.Generation == m.epoch:
		return anyPlace, nil
	}
	return func(p place) error {
		if since, ok := m.since[p]; !ok || r.Generation < since {
			return ErrStaleEpoch
		}
		return nil
	}, nil
}

// mayFetch says whether a member may ask for the group's offsets.
func (g *consumerGroup) mayFetch(id string, epoch int32) error {
	m, ok := g.members[id]
	switch {
	case !ok:
		return ErrUnknownMember
	case epoch != m.epoch:
		return ErrStaleEpoch
	}
	return nil
}

// deadline is a lower bound: heartbeats only move the deadlines of members back, so it costs nothing to keep.
func (g *consumerGroup) deadline() time.Time { return g.wake }

// wakeBy takes a new deadline into account.
func (g *consumerGroup) wakeBy(t time.Time) {
	if !t.IsZero() && (g.wake.IsZero() || t.Before(g.wake)) {
		g.wake = t
	}
}

// tick removes members whose session ended or that did not give up partitions in time.
func (g *consumerGroup) tick(now time.Time) {
	g.wake = time.Time{}
	left := false
	for _, m := range g.sorted() {
		if isDue(m.expires, now) || isDue(m.revokeBy, now) {
			g.drop(m)
			left = true
			continue
		}
		g.wakeBy(m.expires)
		g.wakeBy(m.revokeBy)
	}
	if left {
		g.left(now)
	}
}
