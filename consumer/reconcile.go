package consumer

import (
	"slices"
	"time"
)

// reconcile brings a member closer to its target. What it is to lose leaves its assignment, and is held until the client
// no longer reports it; only when nothing is held the member reaches the epoch of the targets and takes what nobody else
// has. What others still have, it gets with a later heartbeat.
func (g *consumerGroup) reconcile(m *consumerMember, r *HeartbeatRequest, now time.Time) {
	assigned, revoking, epoch := m.assigned.and(m.target), m.revoking.or(m.assigned.minus(m.target)), m.epoch
	if r.Owned != nil {
		revoking = revoking.and(placesOf(r.Owned))
	}
	if len(revoking) == 0 {
		epoch = g.targetEpoch
		assigned = assigned.or(g.free(m, m.target.minus(assigned)))
	}
	if epoch == m.epoch && assigned.equal(m.assigned) && revoking.equal(m.revoking) {
		return
	}
	switch {
	case len(revoking) == 0:
		m.revokeBy = time.Time{}
	case !revoking.equal(m.revoking):
		m.revokeBy = now.Add(m.rebalance)
		g.wakeBy(m.revokeBy)
	}
	if epoch != m.epoch {
		m.previous, m.epoch = m.epoch, epoch
	}
	g.hold(m, assigned, revoking)
	g.touch(m.id)
}

// free returns those of the wanted places that no other member has.
func (g *consumerGroup) free(self *consumerMember, wanted places) places {
	return wanted.filter(func(p place) bool { return g.holders[p] == nil || g.holders[p] == self })
}

// hold gives a member the places that it has from now on, and notes since which of its epochs it has them.
func (g *consumerGroup) hold(m *consumerMember, assigned, revoking places) {
	for _, p := range slices.Concat(m.assigned, m.revoking) {
		delete(g.holders, p)
	}
	since := make(map[place]int32, len(assigned)+len(revoking))
	for _, p := range slices.Concat(assigned, revoking) {
		at, ok := m.since[p]
		if !ok {
			at = m.epoch
		}
		since[p] = at
		g.holders[p] = m
	}
	m.assigned, m.revoking, m.since = assigned, revoking, since
}

// retarget gives every member a new target, if the group's epoch asks for it.
func (g *consumerGroup) retarget(c *catalog) {
	if g.targetEpoch == g.epoch {
		return
	}
	members := g.sorted()
	candidates := make([]candidate, len(members))
	find := newResolver(c)
	for i, m := range members {
		candidates[i] = candidate{m.id, m.instance, find.wanted(m.interest), m.target}
	}
	for i, target := range assign(g.assignor(), candidates) {
		if m := members[i]; !target.equal(m.target) {
			m.target = target
			g.touch(m.id)
		}
	}
	g.targetEpoch = g.epoch
	g.topics, g.checked = g.fingerprint(c), c.number
	g.out.save = true
}

// assignor is the one that most members ask for.
func (g *consumerGroup) assignor() string {
	votes := 0 // for range, less those for uniform
	for _, m := range g.members {
		switch m.assignor {
		case rangeAssignor:
			votes++
		case uniformAssignor:
			votes--
		}
	}
	if votes > 0 {
		return rangeAssignor
	}
	return uniformAssignor
}
