package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"brokerd/topic"
)

// entry is a stream in the set. Streams made through JetStream run from the start; those that are topics made through
// Kafka when a NATS client first has to do with them.
type entry struct {
	stream  *Stream
	started atomic.Bool
}

// family is the streams that a topic is: one for each partition. It never changes, only what it points to.
type family struct {
	topic   *topic.Topic
	entries []*entry
	own     bool // made through JetStream
	changed bool // it is not what it was before
}

// view is all streams at one time. It never changes.
type view struct {
	version  uint64
	byName   map[string]*entry
	ordered  []*entry // by name
	captures *captures
}

func newView(families []*family, version uint64) *view {
	v := &view{version: version, byName: make(map[string]*entry), captures: newCaptures()}
	// A partition's name can be that of another topic as well. Then the topic has it.
	slices.SortFunc(families, func(a, b *family) int {
		if n := len(a.entries) - len(b.entries); n != 0 {
			return n
		}
		return strings.Compare(a.topic.Name(), b.topic.Name())
	})
	for _, f := range families {
		for _, e := range f.entries {
			name := e.stream.Name()
			if _, taken := v.byName[name]; !taken {
				v.byName[name] = e
			}
		}
		if f.own {
			for _, subject := range f.entries[0].stream.Config().Subjects {
				v.captures.add(subject, f.entries[0])
			}
		} else if p := prefix(f.topic); p != "" {
			v.captures.addTopic(p, f.entries)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.byName)) {
		v.ordered = append(v.ordered, v.byName[name])
	}
	return v
}

// related says that e is the stream called name, or another partition of its topic, which has the same subjects.
func (v *view) related(name string, e *entry) bool {
	other, ok := v.byName[name]
	return ok && other.stream.topic == e.stream.topic
}

// current is the view of what there is now.
func (s *Streams) current() *view {
	if v := s.view.Load(); v.version == s.version.Load() {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.version.Load()
	if v := s.view.Load(); v.version == version {
		return v
	}
	v := newView(slices.Collect(maps.Values(s.byTopic)), version)
	s.view.Store(v)
	return v
}

// changed follows a change of the topics; the registry calls it for one at a time.
func (s *Streams) changed(t *topic.Topic, deleted bool) {
	s.mu.Lock()
	old := s.byTopic[t.ID()]
	s.mu.Unlock()
	var next *family
	if !deleted {
		var err error
		if next, err = s.familyOf(t, old); err != nil {
			s.o.Logger.Error().Err(err).Str("topic", t.Name()).Msg("The configuration of a stream is damaged. Its messages were kept, and Kafka clients can read them; delete the topic to make the stream again.")
		}
	}
	s.mu.Lock()
	if next == nil {
		delete(s.byTopic, t.ID())
	} else {
		s.byTopic[t.ID()] = next
	}
	if next == nil || next.changed {
		s.version.Add(1)
	}
	told := s.deleted
	s.mu.Unlock()
	if next != nil && next.own {
		s.start(next.entries[0])
	}
	s.poke()
	for _, e := range ended(old, next) {
		e.stream.close()
		for _, f := range told {
			f(e.stream)
		}
	}
}

// familyOf makes the streams of a topic, or configures those that there were.
func (s *Streams) familyOf(t *topic.Topic, old *family) (*family, error) {
	f := &family{topic: t, own: t.Stream() != nil}
	partitions := len(t.Partitions())
	v := valuesOf(t)
	// The names of all partitions change when there are no longer one but several, and with them the streams.
	keep := old != nil && (len(old.entries) > 1) == (partitions > 1)
	for n := range int32(partitions) {
		c := derived(t, n, v)
		if f.own {
			r, err := decodeRecord(t.Stream())
			if err != nil {
				return nil, err
			}
			c = merged(r.Config, v)
		}
		if keep && int(n) < len(old.entries) {
			e := old.entries[n]
			if !bytes.Equal(encode(e.stream.Config()), encode(c)) {
				e.stream.configure(c)
				f.changed = true
			}
			f.entries = append(f.entries, e)
			continue
		}
		f.entries = append(f.entries, &entry{stream: newStream(s.o, t, n, c)})
		f.changed = true
	}
	return f, nil
}

// ended are the streams that were, and are no longer.
func ended(old, next *family) []*entry {
	if old == nil {
		return nil
	}
	if next == nil {
		return old.entries
	}
	return slices.DeleteFunc(slices.Clone(old.entries), func(e *entry) bool { return slices.Contains(next.entries, e) })
}

// record is what is kept of a stream with its topic.
type record struct {
	Config Config `json:"config"`
	// Copied is how far each source, by its key, is copied, as far as messages up to the sequence CopiedUpTo say; later ones
	// say it themselves, in a header.
	Copied     map[string]position `json:"copied,omitempty"`
	CopiedUpTo uint64              `json:"copied_up_to,omitempty"`
}

func (r record) encode() []byte { return encode(r) }

// decodeRecord reads what is kept of a stream. It was written by this broker, or a later one that knows more.
func decodeRecord(b []byte) (record, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("stream: read the stored configuration: %w", err)
	}
	if r.Config.Name == "" {
		return record{}, fmt.Errorf("stream: read the stored configuration: it has no name")
	}
	return r, nil
}
