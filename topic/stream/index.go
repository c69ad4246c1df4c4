package stream

import (
	"slices"
	"sort"
)

// index knows every message that can be read: its subject, its size and its time. It finds messages by subject without
// looking at the others, as far as whole chunks can be skipped.
type index struct {
	chunks   []*chunk // not empty, by rising sequences
	subjects subjects
	messages uint64
	bytes    uint64
}

func newIndex() index { return index{subjects: newSubjects()} }

// add appends a message; its subject is interned. Sequences rise.
func (x *index) add(sequence uint64, time int64, e cell) {
	n := len(x.chunks)
	if n == 0 || !x.chunks[n-1].takes(sequence, time) {
		x.chunks = append(x.chunks, &chunk{base: sequence, time: time, newest: time})
		n++
	}
	c := x.chunks[n-1]
	e.after = int32(time - c.time)
	c.add(sequence, e)
	x.messages++
	x.bytes += e.bytes()
	s := &x.subjects.list[e.subject]
	if s.count++; s.count == 1 {
		s.first = sequence
		x.subjects.stored++
	}
	s.last = sequence
}

// chunkOf is the first chunk that may hold sequences from this one on.
func (x *index) chunkOf(sequence uint64) int {
	i := sort.Search(len(x.chunks), func(i int) bool { return x.chunks[i].base > sequence })
	return max(i-1, 0)
}

// get returns the entry and the time of a message.
func (x *index) get(sequence uint64) (e cell, time int64, ok bool) {
	i := x.chunkOf(sequence)
	if i == len(x.chunks) {
		return cell{}, 0, false
	}
	c := x.chunks[i]
	j := c.at(sequence)
	if j < 0 {
		return cell{}, 0, false
	}
	return c.entries[j], c.time + int64(c.entries[j].after), true
}

// first returns the oldest message; 0 when there is none.
func (x *index) first() (sequence uint64, e cell, time int64) {
	if len(x.chunks) == 0 {
		return 0, cell{}, 0
	}
	c := x.chunks[0]
	e = c.entries[c.dead]
	return c.sequence(c.dead), e, c.time + int64(e.after)
}

// remove takes a message out; false when it is not there.
func (x *index) remove(sequence uint64) bool {
	i := x.chunkOf(sequence)
	if i == len(x.chunks) {
		return false
	}
	c := x.chunks[i]
	j := c.at(sequence)
	if j < 0 {
		return false
	}
	e := c.entries[j]
	c.remove(j)
	if c.live == 0 {
		x.drop(i)
	}
	x.messages--
	x.bytes -= e.bytes()
	s := &x.subjects.list[e.subject]
	s.count--
	switch {
	case s.count == 0:
		x.subjects.stored--
		s.first, s.last = 0, 0
		x.subjects.release(e.subject)
	case s.count == 1 && s.last != sequence:
		s.first = s.last
	case s.last == sequence:
		s.last = x.previous(sequence, e.subject)
	case s.first == sequence:
		s.first++
	}
	return true
}

// drop takes chunk i out.
func (x *index) drop(i int) {
	if i > 0 {
		x.chunks = slices.Delete(x.chunks, i, i+1)
		return
	}
	x.chunks[0] = nil
	x.chunks = x.chunks[1:]
}

// next finds the first message at or above from that m matches; 0 when there is none.
func (x *index) next(from uint64, m *matcher) uint64 {
	if m != nil && m.one != 0 {
		s := &x.subjects.list[m.one]
		if s.count == 0 || from > s.last {
			return 0
		}
		from = max(from, s.first)
	}
	for i := x.chunkOf(from); i < len(x.chunks); i++ {
		c := x.chunks[i]
		if !x.mayHold(i, m) {
			continue
		}
		for j := max(c.find(from), c.dead); j < len(c.entries); j++ {
			if id := c.entries[j].subject; id != 0 && x.subjects.matches(m, id) {
				return c.sequence(j)
			}
		}
	}
	return 0
}

// oldest is the first message of a subject that has one.
func (x *index) oldest(id uint32) uint64 {
	s := &x.subjects.list[id]
	s.first = x.next(s.first, &matcher{one: id})
	return s.first
}

// previous finds the last message of a subject at or below a sequence; 0 when there is none.
func (x *index) previous(from uint64, id uint32) uint64 {
	m := &matcher{one: id}
	for i := x.chunkOf(from); i >= 0 && i < len(x.chunks); i-- {
		c := x.chunks[i]
		if !x.mayHold(i, m) {
			continue
		}
		for j := min(c.find(from), len(c.entries)-1); j >= c.dead; j-- {
			if c.entries[j].subject == id && c.sequence(j) <= from {
				return c.sequence(j)
			}
		}
	}
	return 0
}

// mayHold says that chunk i may hold a message which m matches.
func (x *index) mayHold(i int, m *matcher) bool {
	if m == nil || i == len(x.chunks)-1 {
		return true
	}
	c := x.chunks[i]
	if c.tallies == nil {
		c.count()
	}
	if m.one != 0 {
		t, ok := c.tallied(m.one)
		return ok && c.tallies[t].n > 0
	}
	return slices.ContainsFunc(c.tallies, func(t tally) bool { return t.n > 0 && x.subjects.matches(m, t.subject) })
}

// pending counts the messages at or above from that m matches.
func (x *index) pending(from uint64, m *matcher) uint64 {
	if len(x.chunks) == 0 {
		return 0
	}
	i := x.chunkOf(from)
	var n uint64
	if i < len(x.chunks)/2 {
		for j := range i {
			n += x.held(j, 0, m)
		}
		return x.total(m) - n - (x.held(i, 0, m) - x.held(i, from, m))
	}
	for j := i + 1; j < len(x.chunks); j++ {
		n += x.held(j, 0, m)
	}
	return n + x.held(i, from, m)
}

// total counts the messages that m matches.
func (x *index) total(m *matcher) (n uint64) {
	if m == nil {
		return x.messages
	}
	x.subjects.matching(m, func(_ uint32, s *named) { n += s.count })
	return n
}

// held counts the messages of chunk i, at or above from, that m matches.
func (x *index) held(i int, from uint64, m *matcher) (n uint64) {
	c := x.chunks[i]
	whole := from <= c.base
	if whole && m == nil {
		return uint64(c.live)
	}
	if whole && i < len(x.chunks)-1 {
		if !x.mayHold(i, m) {
			return 0
		}
		for _, t := range c.tallies {
			if t.n > 0 && x.subjects.matches(m, t.subject) {
				n += uint64(t.n)
			}
		}
		return n
	}
	for _, e := range c.entries[c.find(from):] {
		if e.subject != 0 && x.subjects.matches(m, e.subject) {
			n++
		}
	}
	return n
}

// atTime finds the first message that is not older than ms; 0 when there is none.
func (x *index) atTime(ms int64) uint64 {
	for _, c := range x.chunks {
		if c.newest < ms {
			continue
		}
		for i := c.dead; i < len(c.entries); i++ {
			if e := c.entries[i]; e.subject != 0 && c.time+int64(e.after) >= ms {
				return c.sequence(i)
			}
		}
	}
	return 0
}
