package consumer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"brokerd/topic"
)

// The ways to assign that members may ask for. The first one is for groups whose members do not say.
const (
	uniformAssignor = "uniform"
	rangeAssignor   = "range"
)

func knownAssignor(name string) bool { return name == uniformAssignor || name == rangeAssignor }

// candidate is a member as an assignor sees it.
type candidate struct {
	id, instance string
	wants        *subscription
	has          places // its target so far; no two members have the same place
}

// assign distributes all partitions of the topics that members want: each goes to one of those who want the topic. It
// returns the places of each candidate, and depends on nothing else than its arguments.
func assign(assignor string, members []candidate) []places {
	lists := make([][]place, len(members))
	if assignor == rangeAssignor {
		assignRange(members, lists)
	} else {
		assignUniform(members, lists)
	}
	sets := make([]places, len(lists))
	for i, l := range lists {
		sets[i] = newPlaces(l...)
	}
	return sets
}

// pool is topics that the same members want. A group whose members want the same has one.
type pool struct {
	index       int
	topics      []Topic
	subscribers []int // indexes of members

	lightest int // of the subscribers: an answer of uniform.lightest
	asked    int
}

// poolsOf sorts the topics into pools. The subscribers of each are in the order of members; the pools that few want come
// first.
func poolsOf(members []candidate) []*pool {
	var subscriptions []*subscription // each once
	wanting := map[*subscription][]int{}
	for i, m := range members {
		if wanting[m.wants] == nil {
			subscriptions = append(subscriptions, m.wants)
		}
		wanting[m.wants] = append(wanting[m.wants], i)
	}
	in := map[topic.ID][]int{} // of which subscriptions a topic is part
	var topics []Topic
	for i, s := range subscriptions {
		for _, t := range s.topics {
			if in[t.ID] == nil {
				topics = append(topics, t)
			}
			in[t.ID] = append(in[t.ID], i)
		}
	}
	slices.SortFunc(topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	var pools []*pool
	byKey := map[string]*pool{}
	for _, t := range topics {
		var key []byte
		for _, i := range in[t.ID] {
			key = append(strconv.AppendInt(key, int64(i), 10), ' ')
		}
		p := byKey[string(key)]
		if p == nil {
			p = &pool{}
			for _, i := range in[t.ID] {
				p.subscribers = append(p.subscribers, wanting[subscriptions[i]]...)
			}
			slices.Sort(p.subscribers)
			byKey[string(key)] = p
			pools = append(pools, p)
		}
		p.topics = append(p.topics, t)
	}
	slices.SortStableFunc(pools, func(a, b *pool) int { return cmp.Compare(len(a.subscribers), len(b.subscribers)) })
	for i, p := range pools {
		p.index = i
	}
	return pools
}

// assignRange cuts each topic by itself into ranges of numbers, one for each subscriber; the first ones get one partition
// more when it does not come out even. Topics with the same number of partitions and the same subscribers are cut at the
// same numbers, which is what members that join two topics rely on. Static members come first, by instance id: they keep
// their ranges when their member ids change.
func assignRange(members []candidate, lists [][]place) {
	rank := func(a, b int) int {
		ma, mb := members[a], members[b]
		if (ma.instance == "") != (mb.instance == "") {
			return cmp.Compare(mb.instance, ma.instance)
		}
		return cmp.Or(cmp.Compare(ma.instance, mb.instance), cmp.Compare(ma.id, mb.id))
	}
	for _, p := range poolsOf(members) {
		slices.SortFunc(p.subscribers, rank)
		n := int32(len(p.subscribers))
		for _, t := range p.topics {
			each, more := t.Partitions/n, t.Partitions%n
			next := int32(0)
			for i, m := range p.subscribers {
				end := next + each
				if int32(i) < more {
					end++
				}
				for ; next < end; next++ {
					lists[m] = append(lists[m], place{t.ID, next})
				}
			}
		}
	}
}
