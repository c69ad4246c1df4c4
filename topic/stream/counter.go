package stream

import (
	"encoding/json"
	"fmt"
	"math/big"

	"brokerd/topic"
)

// maxCounters is the most values that are remembered, apart from those that are not durable yet.
const maxCounters = 50_000

// counters remembers the value of counters (ADR-49): each message of one holds the sum so far. The partition's lock guards
// it.
type counters struct {
	values map[uint32]counted // by subject
}

// counted is the value that a message holds.
type counted struct {
	sequence uint64 // of the message
	value    *big.Int
}

// value is what a stored message of a counter holds.
type value struct {
	Value string `json:"val"`
}

// set remembers the value that a message holds.
func (cs *counters) set(id uint32, sequence uint64, text string, subjects *subjects) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return
	}
	if cs.values == nil {
		cs.values = make(map[uint32]counted)
	}
	if len(cs.values) >= maxCounters {
		for old := range cs.values {
			if subjects.list[old].ahead == 0 {
				delete(cs.values, old)
			}
		}
	}
	cs.values[id] = counted{sequence, n}
}

// checkIncrement holds the headers of an increment to what goes together.
func checkIncrement(conf *Config, m *incoming) error {
	h := &m.headers
	if h.increment == "" {
		return nil
	}
	if _, ok := new(big.Int).SetString(h.increment, 10); !ok {
		return ErrCounterIncrement
	}
	switch {
	case !conf.AllowCounter:
		return ErrCounterDisabled
	case len(m.Data) > 0:
		return ErrCounterPayload
	case h.rollup != "" || h.expectedStream != "" || h.expectedID != "" || h.expectedSubject != "" ||
		h.expectedSequence != "" || h.expectedLast != "":
		return ErrCounterIncrement
	}
	return nil
}

// prepareCounter reads the value that an increment adds to, if it is not known, so that no disk is read while the
// partition's lock is held.
func (s *Stream) prepareCounter(m *incoming) error {
	if !s.config.Load().AllowCounter || m.headers.increment == "" {
		return nil
	}
	name := m.Subject
	if tr := s.transform.Load(); tr != nil {
		name, _ = tr.Apply(name)
	}
	var last uint64
	err := s.with(func(_ topic.Tail, c *contents) error {
		if id, ok := c.index.subjects.ids[name]; ok {
			n := &c.index.subjects.list[id]
			if c.counters.values[id].sequence != n.newest() && n.ahead == 0 {
				last = n.newest()
			}
		}
		return nil
	})
	if err != nil || last == 0 {
		return err
	}
	stored, err := s.Get(last)
	if err != nil {
		return err
	}
	var v value
	if json.Unmarshal(stored.Data, &v) != nil {
		return ErrCounterBroken
	}
	return s.with(func(_ topic.Tail, c *contents) error {
		if id, ok := c.index.subjects.ids[name]; ok {
			c.counters.set(id, last, v.Value, &c.index.subjects)
		}
		return nil
	})
}

// count makes of an increment the message to store. The partition's lock is held.
func (c *contents) count(conf *Config, m *incoming) error {
	if m.headers.increment == "" || !conf.AllowCounter || m.copied {
		return nil
	}
	sum := new(big.Int)
	sum.SetString(m.headers.increment, 10)
	if id, ok := c.index.subjects.ids[m.Subject]; ok {
		known := c.counters.values[id]
		if known.sequence != c.index.subjects.list[id].newest() {
			return ErrUnavailable // it changed a moment ago
		}
		sum.Add(sum, known.value)
	}
	m.value = sum.String()
	m.Data = fmt.Appendf(nil, "{%q:%q}", "val", m.value)
	if conf.MaxMsgSize >= 0 && len(m.Header)+len(m.Data) > int(conf.MaxMsgSize) {
		return ErrMessageTooLarge
	}
	return nil
}
