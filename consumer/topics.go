package consumer

import (
	"slices"
	"strings"
	"sync"

	"brokerd/topic"
)

// Topics is what groups ask about the topics that there are.
type Topics interface {
	// Find looks a topic up by name.
	Find(name string) (Topic, bool)
	// All returns every topic, in any order.
	All() []Topic
	// Version grows with each change of what All returns, once that can be seen.
	Version() uint64
}

// Topic is a topic as groups see it.
type Topic struct {
	Name       string
	ID         topic.ID
	Partitions int32
}

// RegistryTopics are the topics of a registry.
func RegistryTopics(r *topic.Registry) Topics { return registry{r} }

type registry struct{ *topic.Registry }

func (r registry) Find(name string) (Topic, bool) {
	t, ok := r.Get(name)
	if !ok {
		return Topic{}, false
	}
	return seen(t), true
}

func (r registry) All() []Topic {
	var all []Topic
	for _, t := range r.List() {
		all = append(all, seen(t))
	}
	return all
}

func seen(t *topic.Topic) Topic { return Topic{t.Name(), t.ID(), int32(len(t.Partitions()))} }

// catalog is all topics at one moment. It never changes.
type catalog struct {
	number uint64  // later catalogs have higher ones; 0 is before all
	topics []Topic // by name
	byName map[string]Topic
	names  map[topic.ID]string
}

func newCatalog(number uint64, topics []Topic) *catalog {
	c := &catalog{
		number: number,
		topics: slices.SortedFunc(slices.Values(topics), func(a, b Topic) int { return strings.Compare(a.Name, b.Name) }),
		byName: make(map[string]Topic, len(topics)),
		names:  make(map[topic.ID]string, len(topics)),
	}
	for _, t := range topics {
		c.byName[t.Name], c.names[t.ID] = t, t.Name
	}
	return c
}

// catalogs makes a catalog when topics have changed.
type catalogs struct {
	topics Topics

	mu      sync.Mutex
	last    *catalog
	version uint64 // of the topics when last was made, or an older one
}

func (c *catalogs) current() *catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.topics.Version()
	if c.last == nil {
		c.last, c.version = newCatalog(1, c.topics.All()), version
	} else if version != c.version {
		c.last, c.version = newCatalog(c.last.number+1, c.topics.All()), version
	}
	return c.last
}
