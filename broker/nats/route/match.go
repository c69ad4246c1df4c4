package route

import "strings"

// Result is who gets a message: everybody in Plain, and one member of each of Queues.
type Result[L any] struct {
	Plain  []L
	Queues []Queue[L]
}

// Queue is the members of one queue group.
type Queue[L any] struct {
	Name    string
	Members []L
}

// Empty says that nobody gets it.
func (r *Result[L]) Empty() bool { return len(r.Plain) == 0 && len(r.Queues) == 0 }

// Match finds who listens on s. A token of s that looks like a wildcard is none; a subject with an empty token has no
// listener.
func (t *Table[L]) Match(s string) *Result[L] {
	r := &Result[L]{}
	if hasEmptyToken(s) {
		return r
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.root.match(s, true, func(n *node[L]) bool {
		r.add(n)
		return true
	})
	return r
}

// Interest says whether anybody listens on s: a member of the queue group, if one is named, else whoever it is.
func (t *Table[L]) Interest(s, queue string) bool {
	if hasEmptyToken(s) {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return !t.root.match(s, true, func(n *node[L]) bool {
		if queue != "" {
			return len(n.queues[queue]) == 0
		}
		return len(n.plain) == 0 && len(n.queues) == 0
	})
}

func hasEmptyToken(s string) bool {
	return s == "" || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..")
}

// match calls f for every node that rest leads to, until f returns false; then so does match.
func (n *node[L]) match(rest string, more bool, f func(*node[L]) bool) bool {
	if !more {
		return f(n)
	}
	if n.rest != nil && !f(n.rest) {
		return false
	}
	token, rest, more := strings.Cut(rest, ".")
	if n.star != nil && !n.star.match(rest, more, f) {
		return false
	}
	if c := n.next[token]; c != nil {
		return c.match(rest, more, f)
	}
	return true
}

func (r *Result[L]) add(n *node[L]) {
	for _, s := range n.plain {
		r.Plain = append(r.Plain, s.listener)
	}
	for name, members := range n.queues {
		q := r.queue(name)
		for _, s := range members {
			q.Members = append(q.Members, s.listener)
		}
	}
}

// queue finds the group, which may have members at several nodes, or begins it.
func (r *Result[L]) queue(name string) *Queue[L] {
	for i := range r.Queues {
		if r.Queues[i].Name == name {
			return &r.Queues[i]
		}
	}
	r.Queues = append(r.Queues, Queue[L]{Name: name})
	return &r.Queues[len(r.Queues)-1]
}
