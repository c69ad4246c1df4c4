package consumer

import (
	"time"
)

// prepare starts a join phase: members learn from their heartbeats that they have to join again.
func (g *classicGroup) prepare(now time.Time) {
	for _, m := range g.sorted() {
		if m.sync != 0 {
			g.fail(m.sync, ErrRebalanceInProgress)
			m.sync = 0
			m.refresh(now)
		}
	}
	g.syncBy = time.Time{}
	g.round = round{deadline: now.Add(g.rebalanceTimeout())}
	if g.state == Empty {
		delay := g.settings.InitialDelay
		g.round = round{initial: true, deadline: now.Add(delay), remaining: g.rebalanceTimeout() - delay}
	}
	g.state = PreparingRebalance
	g.maybeComplete(now)
}

// rebalanceTimeout is the longest that a member asks for.
func (g *classicGroup) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalance)
	}
	return longest
}

// maybeComplete ends the join phase if nothing is left to wait for. Ids that were given out but not used are not waited
// for. The first phase of an empty group lasts its full delay, and longer while members keep arriving.
func (g *classicGroup) maybeComplete(now time.Time) {
	if g.state != PreparingRebalance {
		return
	}
	r := &g.round
	over := !now.Before(r.deadline)
	switch {
	case len(g.members) == 0:
		g.complete(now)
	case !r.initial:
		if over || g.allJoined() {
			g.complete(now)
		}
	case over && r.grew && r.remaining > 0:
		extra := min(g.settings.InitialDelay, r.remaining)
		r.deadline, r.remaining, r.grew = now.Add(extra), r.remaining-extra, false
	case over:
		g.complete(now)
	}
}

func (g *classicGroup) allJoined() bool {
	for _, m := range g.members {
		if m.join == 0 {
			return false
		}
	}
	return true
}

// complete ends the join phase: dynamic members that did not come back are out, static ones stay until their session
// ends, and the next generation begins.
func (g *classicGroup) complete(now time.Time) {
	for _, m := range g.sorted() {
		if m.join == 0 && m.instance == "" {
			g.drop(m, ErrUnknownMember)
		}
	}
	if len(g.members) == 0 {
		g.becomeEmpty(now)
		return
	}
	if !g.elect() {
		// Only static members are left, and none came back: wait until one does or their sessions end.
		g.round = round{deadline: now.Add(g.rebalanceTimeout())}
		return
	}
	g.generation++
	g.protocol = g.choose()
	g.state = CompletingRebalance
	g.syncBy = now.Add(g.rebalanceTimeout())
	g.round = round{}
	for _, m := range g.sorted() {
		m.assignment = nil
		m.synced = m.join == 0 // who did not join is not expected to sync
		if to := m.join; to != 0 {
			m.join = 0
			m.refresh(now)
			g.replyJoin(m, to)
		}
	}
}

func (g *classicGroup) becomeEmpty(now time.Time) {
	g.generation++
	g.state = Empty
	g.protocol, g.leader = "", ""
	g.round, g.syncBy = round{}, time.Time{}
	g.emptySince = now
	g.out.save = true
}

// elect makes sure that a member that joined leads: the leader so far or else the one that has been here longest. False
// if nobody joined.
func (g *classicGroup) elect() bool {
	if m, ok := g.members[g.leader]; ok && m.join != 0 {
		return true
	}
	for _, m := range g.sorted() {
		if m.join != 0 {
			g.leader = m.id
			return true
		}
	}
	return false
}

// choose returns the protocol that most members like best among those that all have. Ties go to the one that the
// leader prefers.
func (g *classicGroup) choose() string {
	common := map[string]int{} // to the number of votes
	names := g.members[g.leader].protocols
	for _, p := range names {
		if g.allHave(p.Name) {
			common[p.Name] = 0
		}
	}
	for _, m := range g.members {
		for _, p := range m.protocols {
			if _, ok := common[p.Name]; ok {
				common[p.Name]++
				break
			}
		}
	}
	best := ""
	for _, p := range names {
		votes, ok := common[p.Name]
		if ok && (best == "" || votes > common[best]) {
			best = p.Name
		}
	}
	return best
}

func (g *classicGroup) allHave(protocol string) bool {
	for _, m := range g.members {
		if !m.has(protocol) {
			return false
		}
	}
	return true
}

// drop forgets a member; what it has parked is answered with err. shrunk has to follow.
func (g *classicGroup) drop(m *member, err error) {
	g.answer(m, err)
	delete(g.members, m.id)
	if m.instance != "" {
		delete(g.static, m.instance)
	}
}

// answer ends a member's parked requests with err.
func (g *classicGroup) answer(m *member, err error) {
	g.fail(m.join, err)
	g.fail(m.sync, err)
	m.join, m.sync = 0, 0
}

// shrunk goes on after members were dropped.
func (g *classicGroup) shrunk(now time.Time) {
	switch g.state {
	case CompletingRebalance, Stable:
		g.prepare(now)
	case PreparingRebalance:
		g.maybeComplete(now)
	}
}
