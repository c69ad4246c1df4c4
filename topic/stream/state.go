package stream

import (
	"slices"
	"time"

	"brokerd/topic"
)

// State is what a stream holds.
type State struct {
	Messages  uint64 // that can be read
	Bytes     uint64
	First     uint64 // sequence; Last+1 when there are no messages, 0 when there never were any
	FirstTime time.Time
	Last      uint64 // sequence of the last message, whether it is still there or not
	LastTime  time.Time
	Subjects  int // different ones
	Deleted   int // sequences between First and Last that hold nothing
}

// State counts what can be read now. Errors: those of reading the log while the index is made.
func (s *Stream) State() (State, error) {
	var state State
	err := s.with(func(_ topic.Tail, c *contents) error {
		state = c.state()
		return nil
	})
	return state, err
}

// Glance is State without its price: of a topic made through Kafka, which no NATS client had to do with yet, the log is not
// read for an index. Then offsets count as messages, and times and subjects are left out. Errors: *Error.
func (s *Stream) Glance() (State, error) {
	if !s.kafka() || s.loaded.Load() || s.part == nil {
		return s.State()
	}
	b, err := s.part.Bounds()
	if err != nil {
		return State{}, explain(err)
	}
	state := State{Messages: uint64(b.Stable - b.Start), Bytes: uint64(s.part.Size()), Last: uint64(b.Stable)}
	if state.Last > 0 {
		state.First = uint64(b.Start) + 1
	}
	return state, nil
}

func (c *contents) state() State {
	s := State{Messages: c.index.messages, Bytes: c.index.bytes, Last: c.last, Subjects: c.index.subjects.stored}
	if c.lastTime != 0 {
		s.LastTime = time.UnixMilli(c.lastTime).UTC()
	}
	first, _, at := c.index.first()
	switch {
	case first > 0:
		s.First, s.FirstTime = first, time.UnixMilli(at).UTC()
		s.Deleted = int(s.Last - s.First + 1 - s.Messages)
	case s.Last > 0:
		s.First = s.Last + 1
	}
	return s
}

// Deleted lists the sequences between First and Last that hold nothing, at most max of them.
func (s *Stream) Deleted(max int) ([]uint64, error) {
	var list []uint64
	err := s.with(func(_ topic.Tail, c *contents) error {
		at, _, _ := c.index.first()
		if at == 0 {
			return nil
		}
		for len(list) < max {
			next := c.index.next(at, nil)
			end := next
			if next == 0 {
				end = c.last + 1
			}
			for ; at < end && len(list) < max; at++ {
				list = append(list, at)
			}
			if next == 0 {
				return nil
			}
			at = next + 1
		}
		return nil
	})
	return list, err
}

// Subjects returns the number of messages of each subject that matches filter.
func (s *Stream) Subjects(filter string) (map[string]uint64, error) {
	all := make(map[string]uint64)
	err := s.with(func(_ topic.Tail, c *contents) error {
		if m, ok := c.index.subjects.matcher(filters(filter)); ok {
			c.index.subjects.matching(m, func(_ uint32, n *named) { all[n.name] = n.count })
		}
		return nil
	})
	return all, err
}

// filters are those of a request with one filter; "" is none.
func filters(filter string) []string {
	if filter == "" {
		return nil
	}
	return []string{filter}
}

// Next is the sequence of the first readable message at or above from whose subject one of the filters matches; no filter
// matches all. False when there is none yet: then the sequence is the one to go on from.
func (s *Stream) Next(from uint64, filters []string) (sequence uint64, ok bool) {
	sequence = from
	_ = s.with(func(_ topic.Tail, c *contents) error {
		if m, any := c.index.subjects.matcher(filters); any {
			if next := c.index.next(from, m); next != 0 {
				sequence, ok = next, true
				return nil
			}
		}
		sequence = max(from, c.last+1)
		return nil
	})
	return sequence, ok
}

// Pending counts the readable messages at or above from that the filters match.
func (s *Stream) Pending(from uint64, filters []string) (n uint64) {
	_ = s.with(func(_ topic.Tail, c *contents) error {
		if m, any := c.index.subjects.matcher(filters); any {
			n = c.index.pending(from, m)
		}
		return nil
	})
	return n
}

// LastPerSubject lists the sequence of the newest message, at or below upTo, of each subject that the filters match, in
// rising order.
func (s *Stream) LastPerSubject(filters []string, upTo uint64) (list []uint64) {
	_ = s.with(func(_ topic.Tail, c *contents) error {
		m, any := c.index.subjects.matcher(filters)
		if !any {
			return nil
		}
		c.index.subjects.matching(m, func(id uint32, n *named) {
			last := n.last
			if last > upTo {
				last = c.index.previous(upTo, id)
			}
			if last > 0 {
				list = append(list, last)
			}
		})
		return nil
	})
	slices.Sort(list)
	return list
}

// AtTime is the sequence of the first message at or after t; State().Last+1 when there is none.
func (s *Stream) AtTime(t time.Time) (uint64, error) {
	var sequence uint64
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	err := s.with(func(_ topic.Tail, c *contents) error {
		if sequence = c.index.atTime(ms); sequence == 0 {
			sequence = c.last + 1
		}
		return nil
	})
	return sequence, err
}
