package consumer

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// token names a parked request; the shell knows who waits for it.
type token uint64

// reply answers the request of one token.
type reply struct {
	to   token
	join *JoinResponse
	sync *SyncResponse
	err  error
}

// round is a join phase that is under way.
type round struct {
	deadline  time.Time
	initial   bool          // the group was empty: wait for more members, up to the deadline
	grew      bool          // a member arrived since the deadline was set
	remaining time.Duration // by how much the deadline may still be moved
}

// classicGroup is one classic consumer group as a pure state machine. Each event is a method (join, sync, heartbeat, leave,
// mayCommit, tick) that takes the time as an argument and may leave an output, which the shell collects with drain.
// The machine holds no lock, reads no clock and starts nothing.
//
//	         join                 all joined, or deadline           leader's sync
//	Empty ---------> Preparing -------------------------> Completing ------------> Stable
//	  ^                 |  ^                                   |                      |
//	  +--- none left ---+  +--- a member joins, leaves, expires or changes its mind --+
type classicGroup struct {
	settings Settings

	state        State
	generation   int32  // never decreases
	protocolType string // "" until the first member joined
	protocol     string // chosen for this generation; "" while Empty
	leader       string // a member from Completing on
	emptySince   time.Time

	members map[string]*member
	static  map[string]string    // instance id to member id
	pending map[string]time.Time // ids given out (KIP-394) but not used yet, and when each is forgotten
	joined  int                  // members that ever joined, to keep their order

	round  round     // while Preparing
	syncBy time.Time // when members that did not sync are removed; zero when all did

	out output
}

// member is one member of a group. While a request of its is parked the session timer is off; it starts anew when the
// answer goes out.
type member struct {
	id, instance string
	order        int
	client, host string
	protocols    []Protocol
	session      time.Duration
	rebalance    time.Duration
	assignment   []byte

	expires time.Time // end of the session; while a request is parked zero, or the end of newMemberTimeout
	join    token     // parked requests; 0 = none
	sync    token
	synced  bool // SyncGroup came in this generation
}

func newClassicGroup(s Settings) *classicGroup {
	return &classicGroup{
		settings: s,
		members:  map[string]*member{},
		static:   map[string]string{},
		pending:  map[string]time.Time{},
	}
}

func (g *classicGroup) status() status {
	return status{
		kind:         ClassicType,
		protocolType: g.protocolType,
		state:        g.state,
		members:      len(g.members),
		expected:     len(g.pending),
		emptySince:   g.emptySince,
		unused:       g.generation == 0,
	}
}

func (g *classicGroup) drain() output {
	out := g.out
	g.out = output{}
	return out
}

func (g *classicGroup) fail(to token, err error) {
	if to != 0 {
		g.out.replies = append(g.out.replies, reply{to: to, err: err})
	}
}

// sorted returns the members in the order in which they first joined.
func (g *classicGroup) sorted() []*member {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *member) int { return cmp.Compare(a.order, b.order) })
}

// find checks that a request comes from a current member.
func (g *classicGroup) find(id, instance string) (*member, error) {
	return current(g.members, g.static, id, instance)
}

// refresh starts m's session anew. While a request of m is parked the timer stays as it is.
func (m *member) refresh(now time.Time) {
	if m.join == 0 && m.sync == 0 {
		m.expires = now.Add(m.session)
	}
}

// heartbeat keeps a member alive. During a rebalance it does that too, although the answer is an error that asks the
// member to join again.
func (g *classicGroup) heartbeat(id, instance string, generation int32, now time.Time) error {
	m, err := g.find(id, instance)
	if err != nil {
		return err
	}
	if generation != g.generation {
		return ErrIllegalGeneration
	}
	m.refresh(now)
	if g.state == PreparingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

// mayCommit says whether offsets may be committed, which also keeps the member alive.
func (g *classicGroup) mayCommit(r *CommitRequest, now time.Time) (fence, error) {
	if r.Generation < 0 && g.state == Empty {
		return anyPlace, nil
	}
	m, err := g.find(r.MemberID, r.InstanceID)
	if err != nil {
		return nil, err
	}
	if r.Generation != g.generation {
		return nil, ErrIllegalGeneration
	}
	m.refresh(now)
	if g.state == CompletingRebalance {
		return nil, ErrRebalanceInProgress
	}
	return anyPlace, nil
}

// leave removes members, and returns an error for each that could not be.
func (g *classicGroup) leave(refs []MemberRef, now time.Time) []error {
	errs := make([]error, len(refs))
	var left bool
	for i, ref := range refs {
		if _, ok := g.pending[ref.MemberID]; ok && ref.InstanceID == "" {
			delete(g.pending, ref.MemberID)
			continue
		}
		id := ref.MemberID
		if id == "" && ref.InstanceID != "" {
			id = g.static[ref.InstanceID]
		}
		m, err := g.find(id, ref.InstanceID)
		if err != nil {
			errs[i] = err
			continue
		}
		g.drop(m, ErrUnknownMember)
		left = true
	}
	if left {
		g.shrunk(now)
	}
	return errs
}

// A heartbeat only moves the deadline back, so the shell need not ask after one.
func (g *classicGroup) deadline() time.Time {
	next := g.syncBy
	earlier := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if g.state == PreparingRebalance {
		earlier(g.round.deadline)
	}
	for _, m := range g.members {
		earlier(m.expires)
	}
	for _, t := range g.pending {
		earlier(t)
	}
	return next
}

// tick does what is due: it forgets ids that nobody used, removes members whose session ended or that did not sync in
// time, and ends a join phase.
func (g *classicGroup) tick(now time.Time) {
	maps.DeleteFunc(g.pending, func(_ string, t time.Time) bool { return isDue(t, now) })

	syncDue := isDue(g.syncBy, now)
	if syncDue {
		g.syncBy = time.Time{}
	}
	var left bool
	for _, m := range g.sorted() {
		if isDue(m.expires, now) || syncDue && !m.synced {
			g.drop(m, ErrUnknownMember)
			left = true
		}
	}
	if left {
		g.shrunk(now)
	}
	g.maybeComplete(now)
}
