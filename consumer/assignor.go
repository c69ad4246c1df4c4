package consumer

import (
	"cmp"
	"slices"

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
	topics       []topic.ID // that it subscribes to and that exist, each once
	has          places     // its target so far; no two members have the same place
}

// assign distributes all partitions of the topics that members subscribe to: each goes to one subscriber. It returns the
// places of each candidate, and depends on nothing else than its arguments.
func assign(assignor string, members []candidate, partitions map[topic.ID]int32) []places {
	if assignor == rangeAssignor {
		return assignRange(members, partitions)
	}
	return assignUniform(members, partitions)
}

// subscribers returns who wants each topic, as indexes of members, in their order.
func subscribers(members []candidate) map[topic.ID][]int {
	by := map[topic.ID][]int{}
	for i, m := range members {
		for _, t := range m.topics {
			by[t] = append(by[t], i)
		}
	}
	return by
}

// assignRange cuts each topic by itself into ranges of numbers, one for each subscriber; the first ones get one partition
// more when it does not come out even. Topics with the same number of partitions and the same subscribers are cut at the
// same numbers, which is what members that join two topics rely on. Static members come first, by instance id: they keep
// their ranges when their member ids change.
func assignRange(members []candidate, partitions map[topic.ID]int32) []places {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		ma, mb := members[a], members[b]
		if (ma.instance == "") != (mb.instance == "") {
			return cmp.Compare(mb.instance, ma.instance)
		}
		return cmp.Or(cmp.Compare(ma.instance, mb.instance), cmp.Compare(ma.id, mb.id))
	})
	rank := make([]int, len(members))
	for i, m := range order {
		rank[m] = i
	}
	lists := make([][]place, len(members))
	for id, subs := range subscribers(members) {
		slices.SortFunc(subs, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
		each, more := partitions[id]/int32(len(subs)), partitions[id]%int32(len(subs))
		next := int32(0)
		for i, m := range subs {
			end := next + each
			if int32(i) < more {
				end++
			}
			for ; next < end; next++ {
				lists[m] = append(lists[m], place{id, next})
			}
		}
	}
	return sets(lists)
}

func sets(lists [][]place) []places {
	out := make([]places, len(lists))
	for i, l := range lists {
		out[i] = newPlaces(l...)
	}
	return out
}
