package consumer

import (
	"cmp"
	"container/heap"
	"slices"

	"brokerd/topic"
)

// assignUniform gives all members as many partitions as possible alike, and moves as few as possible: members keep what
// they have, what nobody has goes to whoever has least, and then the one that has most gives one to the one that has least
// until they differ by one at most. When all members subscribe to the same topics, that is a perfect balance with the
// fewest moves. When they do not, it ends when no partition can move to a subscriber that has two less than its owner.
func assignUniform(members []candidate, lists [][]place) {
	u := newUniform(members)
	for i, m := range members {
		u.keep(i, m)
	}
	for _, p := range u.pools {
		u.distribute(p)
	}
	u.balance()
	for i, shares := range u.shares {
		for _, s := range shares {
			lists[i] = append(lists[i], s...)
		}
	}
}

// uniform is an assignment that is being made.
type uniform struct {
	pools  []*pool
	of     map[topic.ID]*pool
	taken  map[topic.ID][]bool // by partition
	shares []map[int][]place   // by member: its places by pool
	load   []int               // by member: how many places it has
	moves  int                 // 1 and one more for each move that balance made
}

func newUniform(members []candidate) *uniform {
	u := &uniform{
		pools:  poolsOf(members),
		of:     map[topic.ID]*pool{},
		taken:  map[topic.ID][]bool{},
		shares: make([]map[int][]place, len(members)),
		load:   make([]int, len(members)),
		moves:  1,
	}
	for _, p := range u.pools {
		for _, t := range p.topics {
			u.of[t.ID], u.taken[t.ID] = p, make([]bool, t.Partitions)
		}
	}
	for i := range u.shares {
		u.shares[i] = map[int][]place{}
	}
	return u
}

func (u *uniform) give(member int, p *pool, what place) {
	u.shares[member][p.index] = append(u.shares[member][p.index], what)
	u.load[member]++
}

// keep leaves a member what it has, as far as it still wants it and it exists.
func (u *uniform) keep(member int, m candidate) {
	for _, what := range m.has {
		p := u.of[what.topic]
		if p == nil || int(what.partition) >= len(u.taken[what.topic]) {
			continue
		}
		if _, wants := slices.BinarySearch(p.subscribers, member); wants {
			u.taken[what.topic][what.partition] = true
			u.give(member, p, what)
		}
	}
}

// distribute gives the places of p that nobody has to the subscribers that have least.
func (u *uniform) distribute(p *pool) {
	queue := &needy{members: slices.Clone(p.subscribers), load: u.load}
	heap.Init(queue)
	for _, t := range p.topics {
		for n, taken := range u.taken[t.ID] {
			if !taken {
				u.give(queue.members[0], p, place{t.ID, int32(n)})
				heap.Fix(queue, 0)
			}
		}
	}
}

// balance lets members that have most give to those that have least, until a whole round changes nothing. Each step makes
// the sum of the squares of all loads smaller, so there is an end.
func (u *uniform) balance() {
	for u.round() {
	}
}

// round goes from the highest load down. At each step all members that have so much give one away if they can. It says
// whether anybody could.
func (u *uniform) round() bool {
	moved := false
	by := map[int][]int{} // load to members; one whose load changed since is in two lists
	top := 0
	for m, n := range u.load {
		by[n] = append(by[n], m)
		top = max(top, n)
	}
	for n := top; n >= 2; n-- {
		for _, from := range by[n] {
			if u.load[from] != n {
				continue
			}
			if to, ok := u.lighten(from); ok {
				moved = true
				by[n-1] = append(by[n-1], from)
				by[u.load[to]] = append(by[u.load[to]], to)
			}
		}
		delete(by, n)
	}
	return moved
}

// lighten moves one place away from a member, to the lightest that may have it. False if nobody has two less.
func (u *uniform) lighten(from int) (to int, ok bool) {
	best := -1
	for i, mine := range u.shares[from] {
		if len(mine) == 0 {
			continue
		}
		m := u.lightest(u.pools[i])
		if best < 0 || u.load[m] < u.load[to] || u.load[m] == u.load[to] && i < best {
			best, to = i, m
		}
	}
	if best < 0 || u.load[from]-u.load[to] < 2 {
		return 0, false
	}
	mine := u.shares[from][best]
	last := len(mine) - 1
	u.give(to, u.pools[best], mine[last])
	u.shares[from][best] = mine[:last]
	u.load[from]--
	u.moves++
	return to, true
}

// lightest is the subscriber of p that has least. It is searched anew only after something moved.
func (u *uniform) lightest(p *pool) int {
	if p.asked != u.moves {
		p.asked = u.moves
		p.lightest = slices.MinFunc(p.subscribers, func(a, b int) int { return cmp.Compare(u.load[a], u.load[b]) })
	}
	return p.lightest
}

// needy is a heap of members by load, the first one first among equals.
type needy struct {
	members []int
	load    []int
}

func (q *needy) Len() int { return len(q.members) }
func (q *needy) Less(i, j int) bool {
	a, b := q.members[i], q.members[j]
	return q.load[a] < q.load[b] || q.load[a] == q.load[b] && a < b
}
func (q *needy) Swap(i, j int) { q.members[i], q.members[j] = q.members[j], q.members[i] }
func (q *needy) Push(any)      { panic("consumer: the subscribers of a pool do not change") }
func (q *needy) Pop() any      { panic("consumer: the subscribers of a pool do not change") }
