package consumer

import (
	"bytes"
	"slices"
	"time"
)

// join takes a JoinGroup. The answer goes to the token: at once, or when the join phase ends. fresh is the member id to
// give out if one is needed.
func (g *classicGroup) join(r *JoinRequest, to token, fresh string, now time.Time) {
	var err error
	switch {
	case !g.supports(r):
		err = ErrInconsistentProtocol
	case !g.hasRoom(r):
		err = ErrGroupFull
	case r.MemberID != "":
		err = g.joinKnown(r, to, now)
	case r.InstanceID != "":
		g.joinStatic(r, to, fresh, now)
	case r.RequireMemberID:
		g.pending[fresh] = now.Add(r.SessionTimeout)
		g.out.replies = append(g.out.replies, reply{to: to, join: &JoinResponse{MemberID: fresh}, err: ErrMemberIDRequired})
	default:
		g.add(r, to, fresh, now)
	}
	if err != nil {
		g.fail(to, err)
	}
}

// self is the member that r comes from or, for a static one without an id, takes the place of; nil for a new member.
func (g *classicGroup) self(r *JoinRequest) *member {
	if r.MemberID == "" && r.InstanceID != "" {
		return g.members[g.static[r.InstanceID]]
	}
	return g.members[r.MemberID]
}

// supports says whether r offers a protocol that every other member has too.
func (g *classicGroup) supports(r *JoinRequest) bool {
	if r.ProtocolType == "" || len(r.Protocols) == 0 {
		return false
	}
	self := g.self(r)
	others := len(g.members)
	if self != nil {
		others--
	}
	if others == 0 {
		return g.state == Empty || r.ProtocolType == g.protocolType
	}
	if r.ProtocolType != g.protocolType {
		return false
	}
	return slices.ContainsFunc(r.Protocols, func(p Protocol) bool {
		for _, m := range g.members {
			if m != self && !m.has(p.Name) {
				return false
			}
		}
		return true
	})
}

// hasRoom says whether r fits into the limits on members and on what they bring. A member that is in stays in.
func (g *classicGroup) hasRoom(r *JoinRequest) bool {
	self := g.self(r)
	if self == nil && len(g.members) >= g.settings.MaxMembers {
		return false
	}
	if r.MemberID == "" && r.InstanceID == "" && len(g.pending) >= g.settings.MaxMembers {
		return false
	}
	size := subscriptionSize(r.Protocols)
	for _, m := range g.members {
		if m != self {
			size += subscriptionSize(m.protocols)
		}
	}
	return size <= MaxGroupBytes
}

func subscriptionSize(protocols []Protocol) int {
	n := 0
	for _, p := range protocols {
		n += len(p.Name) + len(p.Metadata)
	}
	return n
}

// joinKnown takes the join of a client that names its member id.
func (g *classicGroup) joinKnown(r *JoinRequest, to token, now time.Time) error {
	if _, ok := g.pending[r.MemberID]; ok && r.InstanceID == "" {
		delete(g.pending, r.MemberID)
		g.add(r, to, r.MemberID, now)
		return nil
	}
	m, err := g.find(r.MemberID, r.InstanceID)
	if err != nil {
		return err
	}
	unchanged := slices.EqualFunc(m.protocols, r.Protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
	leads := g.leader == m.id
	switch {
	case g.state == CompletingRebalance && unchanged, g.state == Stable && unchanged && !leads:
		// The client did not get the answer to its last join, or only wants to know: nothing changed.
		m.refresh(now)
		g.replyJoin(m, to)
	case g.state == PreparingRebalance:
		g.rejoin(m, r, to)
		g.maybeComplete(now)
	default:
		g.rejoin(m, r, to)
		g.prepare(now)
	}
	return nil
}

// joinStatic takes the join of an instance that has no member id: a new one, or one that was started again and takes
// the place of the member that it was (KIP-345).
func (g *classicGroup) joinStatic(r *JoinRequest, to token, fresh string, now time.Time) {
	old, ok := g.static[r.InstanceID]
	if !ok {
		g.add(r, to, fresh, now)
		return
	}
	m := g.members[old]
	g.answer(m, ErrFencedInstance)
	delete(g.members, old)
	m.id = fresh
	g.members[fresh] = m
	g.static[r.InstanceID] = fresh
	leads, formerLeader := g.leader == old, g.leader
	if leads {
		g.leader = fresh
	}
	g.rejoin(m, r, to)

	if g.state == PreparingRebalance {
		g.maybeComplete(now)
		return
	}
	if g.state != Stable || g.choose() != g.protocol {
		g.prepare(now)
		return
	}
	// The group goes on as it was. A leader must not assign again: a client that cannot be told so (before v9) is told
	// that somebody else leads.
	m.join = 0
	m.refresh(now)
	g.out.save = true
	g.replyJoin(m, to)
	resp := g.out.replies[len(g.out.replies)-1].join
	switch {
	case leads && r.CanSkip:
		resp.SkipAssignment = true
	case leads:
		resp.Leader, resp.Members = formerLeader, nil
	}
}

// add takes in a new member, parks its join and starts a join phase, unless one is under way.
func (g *classicGroup) add(r *JoinRequest, to token, id string, now time.Time) {
	g.joined++
	m := &member{id: id, instance: r.InstanceID, order: g.joined}
	g.members[id] = m
	if m.instance != "" {
		g.static[m.instance] = id
	}
	if g.state == Empty {
		g.protocolType = r.ProtocolType
	}
	g.rejoin(m, r, to)
	m.expires = now.Add(newMemberTimeout)
	if g.state == PreparingRebalance {
		g.round.grew = true
		g.maybeComplete(now)
	} else {
		g.prepare(now)
	}
}

// rejoin parks the join of a member and takes over what it says of itself. An older join that is still parked belongs to
// a client that gave up waiting.
func (g *classicGroup) rejoin(m *member, r *JoinRequest, to token) {
	g.fail(m.join, ErrRebalanceInProgress)
	m.join = to
	m.expires = time.Time{}
	m.client, m.host = r.ClientID, r.Host
	m.protocols = r.Protocols
	m.session, m.rebalance = r.SessionTimeout, r.RebalanceTimeout
	if m.rebalance <= 0 {
		m.rebalance = m.session
	}
}

// replyJoin tells a member about the current generation.
func (g *classicGroup) replyJoin(m *member, to token) {
	resp := &JoinResponse{
		MemberID:     m.id,
		Generation:   g.generation,
		ProtocolType: g.protocolType,
		Protocol:     g.protocol,
		Leader:       g.leader,
	}
	if m.id == g.leader {
		for _, other := range g.sorted() {
			resp.Members = append(resp.Members, Subscription{other.id, other.instance, other.metadata(g.protocol)})
		}
	}
	g.out.replies = append(g.out.replies, reply{to: to, join: resp})
}

func (m *member) has(protocol string) bool {
	return slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
}

// metadata is the subscription that goes with a protocol.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}
