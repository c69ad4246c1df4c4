package consumer

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// resolver finds the topics that subscriptions mean.
type resolver struct {
	*catalog
	matches map[string][]string // by regex: the names of topics
}

func newResolver(c *catalog) *resolver { return &resolver{c, map[string][]string{}} }

// wanted returns the topics that m subscribes to and that exist, each once.
func (r *resolver) wanted(m *consumerMember) []Topic {
	var list []Topic
	for _, name := range m.names {
		if t, ok := r.byName[name]; ok {
			list = append(list, t)
		}
	}
	if m.regex == "" {
		return list
	}
	for _, name := range r.matching(m.regex) {
		if _, twice := slices.BinarySearch(m.names, name); !twice {
			list = append(list, r.byName[name])
		}
	}
	return list
}

// matching returns the names of the topics that a regex matches.
func (r *resolver) matching(regex string) []string {
	names, ok := r.matches[regex]
	if ok {
		return names
	}
	if re, err := wholeName(regex); err == nil { // it was checked when it came
		for _, t := range r.topics {
			if re.MatchString(t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	r.matches[regex] = names
	return names
}

// wantedByAny returns the topics that members want, by name.
func (g *consumerGroup) wantedByAny(c *catalog) map[string]Topic {
	all := map[string]Topic{}
	find := newResolver(c)
	for _, m := range g.members {
		for _, t := range find.wanted(m) {
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
