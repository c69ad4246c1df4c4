package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// request is a pull request that waits for messages.
type request struct {
	pullBody
	inbox     string
	given     int  // messages it was given
	fresh     bool // it does not wait, and it is not decided whether it has to
	heartbeat time.Time
	expires   time.Time // zero for never
}

// pullBody is the body of a pull request (ADR-13).
type pullBody struct {
	Expires       time.Duration `json:"expires"`
	Batch         int           `json:"batch"` // what is still to come
	MaxBytes      int           `json:"max_bytes"`
	NoWait        bool          `json:"no_wait"`
	Heartbeat     time.Duration `json:"idle_heartbeat"`
	Group         string        `json:"group"`
	MinPending    int64         `json:"min_pending"`
	MinAckPending int64         `json:"min_ack_pending"`
	ID            string        `json:"id"`
	Priority      int           `json:"priority"`

	plain bool // not JSON: it has no group, and need not have one
}

// maxPinID bounds what waits with a request.
const maxPinID = 64

// parsePull reads the body: nothing, a number, or JSON.
func parsePull(body []byte) (pullBody, error) {
	body = bytes.TrimSpace(body)
	b := pullBody{Batch: 1, plain: true}
	if len(body) == 0 {
		return b, nil
	}
	if body[0] != '{' {
		if n, err := strconv.Atoi(string(body)); err == nil {
			b.Batch = max(n, 1)
		}
		return b, nil
	}
	b = pullBody{}
	if err := json.Unmarshal(body, &b); err != nil {
		return b, err
	}
	if b.Heartbeat > 0 && b.Heartbeat > b.Expires/2 {
		return b, errors.New("heartbeat value too large")
	}
	b.Batch, b.MaxBytes = max(b.Batch, 1), max(b.MaxBytes, 0)
	return b, nil
}

// pull takes a pull request.
func (m *machine) pull(inbox string, body []byte, now time.Time, to clients) {
	m.last.used = now
	b, err := parsePull(body)
	line := ""
	switch {
	case m.config.push():
		line = "409 Consumer is push based"
	case err != nil:
		line = fmt.Sprintf("400 Bad Request - %v", err)
	default:
		line = m.refuse(&b, now)
	}
	if line == "" && m.waiting.len() >= m.config.MaxWaiting {
		if m.endRequests(now, to); m.waiting.len() >= m.config.MaxWaiting {
			line = "409 Exceeded MaxWaiting"
			if b.Heartbeat > 0 {
				return // a client with heartbeats would ask again at once; now it waits for them
			}
		}
	}
	if line != "" {
		m.do(status{inbox: inbox, line: line})
		return
	}
	r := &request{pullBody: b, inbox: inbox, fresh: b.NoWait}
	if b.Expires != 0 {
		r.expires = now.Add(b.Expires)
	}
	if b.Heartbeat > 0 {
		r.heartbeat = now.Add(b.Heartbeat)
	}
	m.waiting.add(r, m.config.PriorityPolicy == PriorityPrioritized)
}

// refuse is the status that a request gets which asks for more than it may, or for what there is not.
func (m *machine) refuse(b *pullBody, now time.Time) string {
	c := &m.config
	policy := c.PriorityPolicy
	switch {
	case c.MaxBatch > 0 && b.Batch > c.MaxBatch:
		return fmt.Sprintf("409 Exceeded MaxRequestBatch of %d", c.MaxBatch)
	case c.MaxExpires > 0 && b.Expires > c.MaxExpires:
		return fmt.Sprintf("409 Exceeded MaxRequestExpires of %v", c.MaxExpires)
	case c.MaxBytes > 0 && b.MaxBytes > c.MaxBytes:
		return fmt.Sprintf("409 Exceeded MaxRequestMaxBytes of %v", c.MaxBytes)
	case (b.MinPending != 0 || b.MinAckPending != 0) && policy != PriorityOverflow:
		return "400 Bad Request - Not a Overflow Priority consumer"
	case b.ID != "" && policy != PriorityPinned:
		return "400 Bad Request - Not a Pinned Client Priority consumer"
	case len(b.ID) > maxPinID:
		return "423 Nats-Pin-Id mismatch"
	case b.Priority < 0 || b.Priority > 9:
		return "400 Bad Request - Priority must be between 0 and 9"
	case policy == PriorityNone || b.plain:
		return ""
	case b.Group == "":
		return "400 Bad Request - Priority Group missing"
	case !slices.Contains(c.PriorityGroups, b.Group):
		return "400 Bad Request - Invalid Priority Group"
	case m.pin.id == "":
		return ""
	case b.ID == m.pin.id: // its client is there
		m.pin.until = now.Add(c.PinnedTTL)
	case b.ID != "":
		return "423 Nats-Pin-Id mismatch"
	}
	return ""
}

// undecided says that there are requests which do not wait and are to be judged.
func (m *machine) undecided() bool {
	return slices.ContainsFunc(m.waiting.list, func(r *request) bool { return r.fresh })
}

// judge ends new requests that do not wait when there is nothing for them. Undelivered is the number of messages that the
// consumer has not been given.
func (m *machine) judge(undelivered uint64, now time.Time) {
	available := undelivered + uint64(m.pending.again.Len())
	var before uint64 // what earlier requests still want
	for _, r := range m.waiting.all() {
		if !r.fresh {
			before += uint64(r.Batch)
			continue
		}
		r.fresh = false
		switch {
		case available == 0 && r.expires.IsZero():
			m.endNow(r, "404 No Messages", now)
		case available > 0 && available < before:
			m.endNow(r, "408 Requests Pending", now)
		default:
			before += uint64(r.Batch)
		}
	}
}

// pick finds the request that gets a message of this size, and takes from it what the message costs. What cannot be
// served any more ends on the way. Nil when nobody takes it now.
func (m *machine) pick(size int, undelivered uint64, now time.Time, to clients) *request {
	for i := 0; i < m.waiting.len(); {
		r := m.waiting.list[i]
		switch {
		case !r.expires.IsZero() && !now.Before(r.expires):
			m.endRequest(r, "408 Request Timeout", now)
		case !to.Listening(r.inbox, ""):
			m.endSilently(r)
		case m.pin.id != "" && r.ID != "" && r.ID != m.pin.id, m.pin.id == "" && m.pinned() && r.ID != "":
			m.endRequest(r, "423 Nats-Wrong-Pin-Id", now)
		case m.passes(r, undelivered, to):
			i++
		case r.MaxBytes > 0 && size > r.MaxBytes:
			m.endRequest(r, "409 Message Size Exceeds MaxBytes", now)
		default:
			if m.pinned() && m.pin.id == "" && r.Group != "" {
				m.pinTo(r, now)
			}
			m.charge(r, size)
			return r
		}
	}
	return nil
}

// passes says that a request is not to have the message, though it may stay.
func (m *machine) passes(r *request, undelivered uint64, to clients) bool {
	if to.Room(r.inbox) <= 0 {
		return true
	}
	switch m.config.PriorityPolicy {
	case PriorityPinned:
		return m.pin.id != "" && r.ID != m.pin.id
	case PriorityOverflow:
		limited := r.MinPending > 0 || r.MinAckPending > 0
		behind := r.MinPending > 0 && r.MinPending <= int64(undelivered)+1
		unacked := r.MinAckPending > 0 && r.MinAckPending <= int64(m.pending.len())
		return limited && !behind && !unacked
	}
	return false
}

// charge takes one message of this size from what r may still get.
func (m *machine) charge(r *request, size int) {
	r.Batch--
	r.given++
	if r.MaxBytes == 0 {
		return
	}
	if r.MaxBytes -= size; r.MaxBytes == 0 {
		r.Batch = 0
	}
}

// served is called when a message was sent for r: it goes to the end of the queue, or ends.
func (m *machine) served(r *request, now time.Time) {
	m.last.used = now
	if r.Batch > 0 {
		if r.Heartbeat > 0 {
			r.heartbeat = now.Add(r.Heartbeat)
		}
		m.waiting.remove(r)
		m.waiting.add(r, m.config.PriorityPolicy == PriorityPrioritized)
		return
	}
	if r.MaxBytes > 0 {
		m.endRequest(r, "409 Batch Completed", now)
		return
	}
	m.endSilently(r)
}

// endRequest ends a request with a status and what it did not get.
func (m *machine) endRequest(r *request, line string, now time.Time) {
	m.do(status{inbox: r.inbox, line: fmt.Sprintf("%s\r\nNats-Pending-Messages: %d\r\nNats-Pending-Bytes: %d",
		line, r.Batch, r.MaxBytes)})
	m.endSilently(r)
	m.last.used = now
}

// endNow ends a request with a status alone.
func (m *machine) endNow(r *request, line string, now time.Time) {
	m.do(status{inbox: r.inbox, line: line})
	m.endSilently(r)
	m.last.used = now
}

func (m *machine) endSilently(r *request) { m.waiting.remove(r) }

// endRequests ends the requests whose time is over, or that nobody waits for, and sends the heartbeats that are due.
func (m *machine) endRequests(now time.Time, to clients) {
	for _, r := range m.waiting.all() {
		switch {
		case !r.expires.IsZero() && !now.Before(r.expires):
			m.endRequest(r, "408 Request Timeout", now)
		case !to.Listening(r.inbox, ""):
			m.endSilently(r)
		case r.heartbeat.IsZero() || now.Before(r.heartbeat):
		case r.NoWait && r.given > 0: // what is left cannot be delivered now, and this one was not to wait
			m.endNow(r, "404 No Messages", now)
		default:
			m.do(status{inbox: r.inbox, line: m.heartbeat()})
			r.heartbeat = now.Add(r.Heartbeat)
		}
	}
}

// endNoWait ends the requests that do not wait, when there is nothing more to deliver. One that may wait, and has not
// been given anything, still does.
func (m *machine) endNoWait(now time.Time) {
	for _, r := range m.waiting.all() {
		if r.NoWait && (r.expires.IsZero() || r.given > 0) {
			m.endNow(r, "404 No Messages", now)
		}
	}
}

// endAll ends every request: the consumer or the broker goes away.
func (m *machine) endAll(line string, pending bool, now time.Time) {
	for _, r := range m.waiting.all() {
		if pending {
			m.endRequest(r, line, now)
			continue
		}
		m.endNow(r, line, now)
	}
}
