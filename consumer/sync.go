package consumer

import "time"

// sync takes a SyncGroup. The answer goes to the token: at once if the group is stable, else when the leader assigns.
func (g *classicGroup) sync(r *SyncRequest, to token, now time.Time) {
	m, err := g.find(r.MemberID, r.InstanceID)
	switch {
	case err != nil:
	case r.Generation != g.generation:
		err = ErrIllegalGeneration
	case r.ProtocolType != "" && r.ProtocolType != g.protocolType, r.Protocol != "" && r.Protocol != g.protocol:
		err = ErrInconsistentProtocol
	case g.state == PreparingRebalance:
		err = ErrRebalanceInProgress
	}
	if err != nil {
		g.fail(to, err)
		return
	}
	g.fail(m.sync, ErrRebalanceInProgress) // sent before by a client that gave up waiting
	m.sync, m.synced = to, true
	m.expires = time.Time{}
	if g.state == CompletingRebalance && m.id == g.leader {
		g.assign(r.Assignments)
	}
	if g.state == Stable {
		g.replySyncs(now)
	}
}

// assign takes over what the leader decided. A member that it left out gets an empty assignment.
func (g *classicGroup) assign(assignments map[string][]byte) {
	for id, m := range g.members {
		m.assignment = assignments[id]
	}
	g.state = Stable
	g.out.save = true
}

// replySyncs gives all who wait their assignment.
func (g *classicGroup) replySyncs(now time.Time) {
	missing := false
	for _, m := range g.sorted() {
		if to := m.sync; to != 0 {
			m.sync = 0
			m.refresh(now)
			resp := &SyncResponse{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
			g.out.replies = append(g.out.replies, reply{to: to, sync: resp})
		}
		missing = missing || !m.synced
	}
	if !missing {
		g.syncBy = time.Time{}
	}
}
