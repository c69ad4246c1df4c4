package stream

import (
	"slices"
	"strings"

	"brokerd/topic/subject"
)

// named is a subject that messages of the stream have.
type named struct {
	name  string
	count uint64 // messages in the index
	first uint64 // of those; the true one may be later, when messages were removed
	last  uint64
	ahead uint32 // messages in the tail
	head  uint64 // sequence of the newest of those
}

// newest is the sequence of the subject's last message, whether it can be read yet or not; 0 when there is none.
func (n *named) newest() uint64 {
	if n.ahead > 0 {
		return n.head
	}
	return n.last
}

// subjects gives each subject that has a message a number, for as long as it has one.
type subjects struct {
	ids      map[string]uint32
	list     []named // by id; 0 is not used
	free     []uint32
	stored   int // subjects with messages in the index
	matchers []*matcher
}

// maxMatchers is the number of sets of filters whose matches are remembered: the last ones used.
const maxMatchers = 128

func newSubjects() subjects {
	return subjects{ids: make(map[string]uint32), list: make([]named, 1)}
}

// intern returns the id of a subject, which must get a message at once: release takes it back.
func (s *subjects) intern(name string) uint32 {
	if id, ok := s.ids[name]; ok {
		return id
	}
	name = strings.Clone(name)
	var id uint32
	if n := len(s.free); n > 0 {
		id, s.free = s.free[n-1], s.free[:n-1]
		s.list[id] = named{name: name}
	} else {
		id = uint32(len(s.list))
		s.list = append(s.list, named{name: name})
	}
	s.ids[name] = id
	for _, m := range s.matchers {
		m.forget(id)
	}
	return id
}

// release lets go of a subject that has no message left, unless that was done before.
func (s *subjects) release(id uint32) {
	n := &s.list[id]
	if n.count > 0 || n.ahead > 0 || s.ids[n.name] != id {
		return
	}
	delete(s.ids, n.name)
	*n = named{}
	s.free = append(s.free, id)
}

// matcher is a set of filters, and which subjects they match, as far as somebody has asked. A nil matcher matches all.
type matcher struct {
	filters []string
	one     uint32   // the only subject, when the filter is a literal one
	known   []uint64 // bits by subject id
	matched []uint64
}

// matcher returns the matcher for these filters, of which any has to match; no filter matches all. False when nothing of
// what is stored can match.
func (s *subjects) matcher(filters []string) (*matcher, bool) {
	if len(filters) == 0 || slices.Contains(filters, ">") {
		return nil, true
	}
	if len(filters) == 1 && subject.Literal(filters[0]) {
		id, ok := s.ids[filters[0]]
		return &matcher{one: id}, ok
	}
	i := slices.IndexFunc(s.matchers, func(m *matcher) bool { return slices.Equal(m.filters, filters) })
	var m *matcher
	if i >= 0 {
		m = s.matchers[i]
	} else {
		m = &matcher{filters: slices.Clone(filters)}
		if i = len(s.matchers); i < maxMatchers {
			s.matchers = append(s.matchers, nil)
		} else {
			i--
		}
	}
	copy(s.matchers[1:], s.matchers[:i])
	s.matchers[0] = m
	return m, true
}

// matches says whether the subject with this id, which is not 0, is one of m's.
func (s *subjects) matches(m *matcher, id uint32) bool {
	if m == nil {
		return true
	}
	if m.one != 0 {
		return m.one == id
	}
	word, bit := id/64, uint64(1)<<(id%64)
	if int(word) >= len(m.known) {
		grow := len(s.list)/64 + 1 - len(m.known)
		m.known = append(m.known, make([]uint64, grow)...)
		m.matched = append(m.matched, make([]uint64, grow)...)
	}
	if m.known[word]&bit == 0 {
		m.known[word] |= bit
		name := s.list[id].name
		if slices.ContainsFunc(m.filters, func(f string) bool { return subject.Match(f, name) }) {
			m.matched[word] |= bit
		}
	}
	return m.matched[word]&bit != 0
}

// forget is called when an id stands for another subject.
func (m *matcher) forget(id uint32) {
	if word := id / 64; int(word) < len(m.known) {
		m.known[word] &^= 1 << (id % 64)
		m.matched[word] &^= 1 << (id % 64)
	}
}

// matching calls f for each subject with messages in the index that m matches.
func (s *subjects) matching(m *matcher, f func(id uint32, n *named)) {
	if m != nil && m.one != 0 {
		if n := &s.list[m.one]; n.count > 0 {
			f(m.one, n)
		}
		return
	}
	for id := uint32(1); int(id) < len(s.list); id++ {
		if n := &s.list[id]; n.count > 0 && s.matches(m, id) {
			f(id, n)
		}
	}
}
