package consumer

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"unique"
)

// interest is what a member subscribes to. Equal ones have equal keys, and most members of a group have equal ones.
type interest struct {
	names []string // of topics, in order, each once
	regex string   // of whole names; "" for none
	size  int      // bytes of both
	key   unique.Handle[string]
}

func newInterest(names []string, regex string) interest {
	i := interest{names: slices.Compact(slices.Sorted(slices.Values(names))), regex: regex, size: len(regex)}
	key := appendString(nil, regex)
	for _, name := range i.names {
		i.size += len(name)
		key = appendString(key, name)
	}
	i.key = unique.Make(string(key))
	return i
}

// subscription is the topics that an interest means: those that exist, each once.
type subscription struct{ topics []Topic }

// resolver finds the topics that interests mean, each interest and each regex once.
type resolver struct {
	*catalog
	found map[unique.Handle[string]]*subscription
}

func newResolver(c *catalog) *resolver {
	return &resolver{c, map[unique.Handle[string]]*subscription{}}
}

func (r *resolver) wanted(i interest) *subscription {
	s := r.found[i.key]
	if s != nil {
		return s
	}
	s = &subscription{}
	r.found[i.key] = s
	for _, name := range i.names {
		if t, ok := r.byName[name]; ok {
			s.topics = append(s.topics, t)
		}
	}
	if i.regex == "" {
		return s
	}
	re, err := wholeName(i.regex)
	if err != nil {
		return s // cannot be: it was checked when it came
	}
	for _, t := range r.topics {
		if _, twice := slices.BinarySearch(i.names, t.Name); !twice && re.MatchString(t.Name) {
			s.topics = append(s.topics, t)
		}
	}
	return s
}

// wantedByAny returns the topics that members want, by name.
func (g *consumerGroup) wantedByAny(c *catalog) map[string]Topic {
	find := newResolver(c)
	for _, m := range g.members {
		find.wanted(m.interest)
	}
	all := map[string]Topic{}
	for _, s := range find.found {
		for _, t := range s.topics {
			all[t.Name] = t
		}
	}
	return all
}

func (g *consumerGroup) subscribed(c *catalog) (map[string]bool, bool) {
	names := map[string]bool{}
	for name := range g.wantedByAny(c) {
		names[name] = true
	}
	return names, true
}

// fingerprint tells sets of topics apart: by their names, ids and numbers of partitions.
type fingerprint [sha256.Size]byte

// fingerprint is that of all topics that members want.
func (g *consumerGroup) fingerprint(c *catalog) fingerprint {
	all := g.wantedByAny(c)
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t := all[name]
		b = appendString(b, name)
		b = append(b, t.ID[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(t.Partitions))
	}
	return sha256.Sum256(b)
}

// topicsChanged says whether the topics that members want are others than those that the targets were made of. It looks
// at each catalog once.
func (g *consumerGroup) topicsChanged(c *catalog) bool {
	if c.number == g.checked {
		return false
	}
	g.checked = c.number
	return g.fingerprint(c) != g.topics
}
