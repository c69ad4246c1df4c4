package stream

import (
	"math/rand/v2"
	"strings"
)

// captures finds the stream that a subject goes to. It never changes; a change of the streams makes a new one.
//
// The subjects of streams made through JetStream do not overlap with each other, nor with those of topics when they are
// made. A topic can be made under a subject that a stream has: then the stream goes first, and of topics the one with the
// longest name.
type captures struct {
	root   node
	topics map[string][]*entry // by prefix: one stream for each partition
	depth  int                 // the most tokens that a prefix has
}

// node is a set of filters by their first token.
type node struct {
	literal map[string]*node
	any     *node  // "*"
	rest    *entry // ">"
	here    *entry // the filters end here
}

func newCaptures() *captures { return &captures{topics: make(map[string][]*entry)} }

// add gives a stream a subject.
func (c *captures) add(filter string, e *entry) {
	n := &c.root
	for more := true; more; {
		var token string
		token, filter, more = strings.Cut(filter, ".")
		switch token {
		case ">":
			n.rest = e
			return
		case "*":
			if n.any == nil {
				n.any = new(node)
			}
			n = n.any
		default:
			next := n.literal[token]
			if next == nil {
				next = new(node)
				if n.literal == nil {
					n.literal = make(map[string]*node)
				}
				n.literal[token] = next
			}
			n = next
		}
	}
	n.here = e
}

// addTopic gives the streams of a topic's partitions its name, and everything below it.
func (c *captures) addTopic(prefix string, partitions []*entry) {
	c.topics[prefix] = partitions
	c.depth = max(c.depth, 1+strings.Count(prefix, "."))
}

// find returns the stream that a literal subject goes to; nil for none.
func (c *captures) find(subject string) *entry {
	if e := c.root.find(subject); e != nil {
		return e
	}
	return c.inTopic(subject)
}

func (n *node) find(subject string) *entry {
	token, rest, more := strings.Cut(subject, ".")
	for _, next := range []*node{n.literal[token], n.any} {
		switch {
		case next == nil:
		case more:
			if e := next.find(rest); e != nil {
				return e
			}
		case next.here != nil:
			return next.here
		}
	}
	return n.rest
}

// inTopic finds the topic with the longest name that the subject begins with, and the partition of the key that follows.
// Records without a key go to any partition.
func (c *captures) inTopic(subject string) *entry {
	var partitions []*entry
	key := ""
	for end, tokens := -1, 0; tokens < c.depth && end < len(subject); tokens++ {
		if next := strings.IndexByte(subject[end+1:], '.'); next >= 0 {
			end += 1 + next
		} else {
			end = len(subject)
		}
		if found := c.topics[subject[:end]]; len(found) > 0 {
			partitions, key = found, strings.TrimPrefix(subject[end:], ".")
		}
	}
	switch {
	case len(partitions) == 0:
		return nil
	case len(partitions) == 1:
		return partitions[0]
	case key == "":
		return partitions[rand.IntN(len(partitions))]
	}
	return partitions[partitionOf(key, len(partitions))]
}
