package route

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"brokerd/topic/subject"
)

// Table is a set of subscriptions. L is who listens.
type Table[L any] struct {
	// Watchers are told of every subscription that begins or ends.
	Watchers Watchers

	version atomic.Uint64

	mu    sync.RWMutex
	root  node[L] // guarded by mu, like the next one
	count int
}

// Sub is one subscription of a table.
type Sub[L any] struct {
	subject, queue string
	listener       L
	at             int // its place in the node's list; -1 when it is removed
}

// node is a place in the tree: who subscribed to the subject that leads to it, and how subjects go on.
type node[L any] struct {
	plain  []*Sub[L]
	queues map[string][]*Sub[L]

	next map[string]*node[L]
	star *node[L] // for any one token
	rest *node[L] // for all the tokens that follow; nothing follows it
}

// Add adds a subscription, of a member of queue unless that is "". Errors: subject.ErrInvalid.
func (t *Table[L]) Add(filter, queue string, listener L) (*Sub[L], error) {
	if !subject.Valid(filter) {
		return nil, fmt.Errorf("subscribe to %q: %w", filter, subject.ErrInvalid)
	}
	s := &Sub[L]{subject: filter, queue: queue, listener: listener}
	t.mu.Lock()
	n := &t.root
	for rest, more := filter, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		n = n.grow(token)
	}
	n.add(s)
	t.count++
	t.version.Add(1)
	t.mu.Unlock()
	t.Watchers.Notify(filter)
	return s, nil
}

// Remove ends a subscription, once.
func (t *Table[L]) Remove(s *Sub[L]) {
	t.mu.Lock()
	if s.at < 0 {
		t.mu.Unlock()
		return
	}
	t.root.remove(s, s.subject, true)
	s.at = -1
	t.count--
	t.version.Add(1)
	t.mu.Unlock()
	t.Watchers.Notify(s.subject)
}

// Subscribed says whether there is a subscription to exactly this subject or filter, not only one that matches it.
func (t *Table[L]) Subscribed(filter string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := &t.root
	for rest, more := filter, true; more && n != nil; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		n = n.child(token)
	}
	return n != nil && len(n.plain)+len(n.queues) > 0
}

// Version changes whenever a subscription begins or ends. A result of Match is right as long as the version is what it was
// before the call.
func (t *Table[L]) Version() uint64 { return t.version.Load() }

// Len is the number of subscriptions.
func (t *Table[L]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count
}

// child is where token leads to; nil for nowhere.
func (n *node[L]) child(token string) *node[L] {
	switch token {
	case "*":
		return n.star
	case ">":
		return n.rest
	}
	return n.next[token]
}

// grow is where token leads to, after the way there was made.
func (n *node[L]) grow(token string) *node[L] {
	if c := n.child(token); c != nil {
		return c
	}
	c := &node[L]{}
	switch token {
	case "*":
		n.star = c
	case ">":
		n.rest = c
	default:
		if n.next == nil {
			n.next = map[string]*node[L]{}
		}
		n.next[strings.Clone(token)] = c // a token does not hold the whole subject's memory
	}
	return c
}

// prune forgets where token leads to.
func (n *node[L]) prune(token string) {
	switch token {
	case "*":
		n.star = nil
	case ">":
		n.rest = nil
	default:
		delete(n.next, token)
	}
}

func (n *node[L]) empty() bool {
	return len(n.plain) == 0 && len(n.queues) == 0 && len(n.next) == 0 && n.star == nil && n.rest == nil
}

func (n *node[L]) add(s *Sub[L]) {
	if s.queue == "" {
		s.at = len(n.plain)
		n.plain = append(n.plain, s)
		return
	}
	if n.queues == nil {
		n.queues = map[string][]*Sub[L]{}
	}
	members := n.queues[s.queue]
	s.at = len(members)
	n.queues[s.queue] = append(members, s)
}

// remove takes s away, which is where rest leads to, and nodes that are of no use any more.
func (n *node[L]) remove(s *Sub[L], rest string, more bool) {
	if more {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		c := n.child(token)
		c.remove(s, rest, more)
		if c.empty() {
			n.prune(token)
		}
		return
	}
	if s.queue == "" {
		n.plain = without(n.plain, s.at)
		return
	}
	n.queues[s.queue] = without(n.queues[s.queue], s.at)
	if len(n.queues[s.queue]) == 0 {
		delete(n.queues, s.queue)
	}
}

// without lets the last one take the place of the one at i.
func without[L any](all []*Sub[L], i int) []*Sub[L] {
	last := len(all) - 1
	all[i] = all[last]
	all[i].at = i
	all[last] = nil
	if last == 0 {
		return nil
	}
	return all[:last]
}
