package stream

import (
	"errors"
	"fmt"
	"strconv"

	"brokerd/topic"
	"brokerd/topic/subject"
)

// check holds a message to everything that comes before the duplicate check, in nats-server's order. The partition's lock is
// held. Errors: *Error.
func (s *Stream) check(t topic.Tail, c *contents, conf *Config, m *incoming) error {
	h := &m.headers
	switch {
	case m.copied:
		return nil
	case conf.Sealed:
		return ErrSealed
	case conf.Mirror != nil:
		return GeneralError(errMirrored)
	}
	if err := checkIncrement(conf, m); err != nil {
		return err
	}
	if h.expectedStream != "" && h.expectedStream != conf.Name {
		return ErrExpectedStream
	}
	if ttl, ok := parseTTL(h.ttl); h.ttl != "" && (ttl != 0 || m.staged != nil && !ok) && !conf.AllowTTL {
		return ErrTTLDisabled
	}
	if err := c.checkLast(m); err != nil {
		return err
	}
	if err := checkHead(c.head(t), m); err != nil {
		return err
	}
	if err := c.checkSchedule(conf, m); err != nil {
		return err
	}
	if h.source != "" {
		return ErrSourceHeader
	}
	return nil
}

// checkLast holds a message to the expected last sequence of its subject, or of another one.
func (c *contents) checkLast(m *incoming) error {
	h := &m.headers
	if h.expectedLast == "" {
		if h.expectedSubject != "" {
			return ErrExpectedSequenceMissing
		}
		return nil
	}
	filter := m.Subject
	if h.expectedSubject != "" {
		filter = h.expectedSubject
	}
	if m.staged != nil && m.staged.wrote[filter] {
		return ErrWrongLastSequence
	}
	last := c.newestOf(filter)
	if last != parseSequence(h.expectedLast) {
		return WrongLastSequence(last)
	}
	return nil
}

// newestOf is the newest sequence of the subjects that a filter matches, whether it can be read yet or not.
func (c *contents) newestOf(filter string) uint64 {
	subjects := &c.index.subjects
	if subject.Literal(filter) {
		if id, ok := subjects.ids[filter]; ok {
			return subjects.list[id].newest()
		}
		return 0
	}
	m, ok := subjects.matcher([]string{filter})
	if !ok {
		return 0
	}
	var last uint64
	for id := uint32(1); int(id) < len(subjects.list); id++ {
		if n := &subjects.list[id]; n.newest() > last && subjects.matches(m, id) {
			last = n.newest()
		}
	}
	return last
}

// checkHead holds a message to the expected last sequence of the stream.
func checkHead(head uint64, m *incoming) error {
	h := &m.headers
	if h.expectedSequence == "" {
		return nil
	}
	if m.staged != nil && len(m.staged.wrote) > 0 {
		return ErrWrongLastSequence
	}
	if parseSequence(h.expectedSequence) != head {
		return WrongLastSequence(head)
	}
	return nil
}

// checkContent holds a message to everything that comes after the duplicate check, but limits. Errors: *Error.
func checkContent(c *contents, conf *Config, m *incoming) error {
	h := &m.headers
	if m.copied {
		return nil
	}
	if h.expectedID != "" && h.expectedID != c.lastID {
		return WrongLastID(c.lastID)
	}
	if h.rollup != "" {
		kind, ok := parseRollup(h.rollup)
		switch {
		case !conf.AllowRollup || conf.DenyPurge:
			return RollupFailed(errors.New("rollup not permitted"))
		case !ok:
			return RollupFailed(fmt.Errorf("rollup value invalid: %q", h.rollup))
		case m.staged != nil && kind == rollupSubject && m.staged.wrote[m.Subject]:
			return RollupFailed(errors.New("batch rollup sub invalid"))
		case m.staged != nil && kind == rollupAll && len(m.staged.wrote) > 0:
			return RollupFailed(errors.New("batch rollup all invalid"))
		}
	}
	switch {
	case h.increment == "" && conf.AllowCounter:
		return ErrCounterIncrementMissing
	case conf.MaxMsgSize >= 0 && len(m.Header)+len(m.Data) > int(conf.MaxMsgSize):
		return ErrMessageTooLarge
	case len(m.Header) > maxHeader:
		return ErrHeaderTooLarge
	}
	return nil
}

// checkTimes reads the time to live, and makes it last as long as a delete marker would. Errors: *Error.
func checkTimes(conf *Config, m *incoming) error {
	if m.headers.ttl == "" || m.copied {
		return nil
	}
	ttl, ok := parseTTL(m.headers.ttl)
	if !ok {
		return ErrInvalidTTL
	}
	if ttl > 0 && ttl < conf.MarkerTTL && conf.MaxMsgsPer != 1 {
		m.Header = setHeader(m.Header, headerTTL, strconv.Itoa(int(conf.MarkerTTL.Seconds())))
	}
	return nil
}
