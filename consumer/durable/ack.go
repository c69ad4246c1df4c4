package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Subjects that clients send to: acknowledgements, and answers to flow control.
const (
	ackPrefix  = "$JS.ACK."
	flowPrefix = "$JS.FC."
)

// verb is what an acknowledgement says.
type verb uint8

const (
	ackVerb  verb = iota // done with
	nakVerb              // again, please
	wpiVerb              // work in progress: give me more time
	termVerb             // done with, though it failed
	nextVerb             // done with, and the next please
)

// ack is an acknowledgement.
type ack struct {
	names      names
	deliveries uint64 // the attempt that it is for
	place      place
	verb       verb
	delay      time.Duration // nak: until the next delivery
	delayed    bool
	reason     string // term
	next       []byte // next: the pull request
}

var errAckSubject = errors.New("durable: not an ack subject")

// parseAck reads an acknowledgement.
func parseAck(subject string, body []byte) (ack, error) {
	tokens := strings.Split(strings.TrimPrefix(subject, ackPrefix), ".")
	if !strings.HasPrefix(subject, ackPrefix) || len(tokens) != 7 {
		return ack{}, errAckSubject
	}
	var n [5]uint64
	for i, t := range tokens[2:] {
		v, err := strconv.ParseUint(t, 10, 64)
		if err != nil {
			return ack{}, errAckSubject
		}
		n[i] = v
	}
	a := ack{names: names{tokens[0], tokens[1]}, deliveries: n[0], place: place{stream: n[1], consumer: n[2]}}
	a.parseBody(body)
	return a, nil
}

// parseBody reads what the acknowledgement says. What cannot be understood is a plain one, but for a delay, which is none.
func (a *ack) parseBody(body []byte) {
	verb, rest := body, []byte(nil)
	for _, prefix := range []string{"-NAK", "+TERM", "+NXT"} {
		if bytes.HasPrefix(body, []byte(prefix)) {
			verb, rest = body[:len(prefix)], body[len(prefix):]
		}
	}
	switch string(verb) {
	case "-NAK":
		a.verb = nakVerb
		a.delay, a.delayed = parseDelay(bytes.TrimSpace(rest))
	case "+WPI":
		a.verb = wpiVerb
	case "+TERM":
		a.verb, a.reason = termVerb, string(bytes.TrimSpace(rest))
	case "+NXT":
		a.verb, a.next = nextVerb, rest
	}
}

// parseDelay reads a delay as a Go duration, or as JSON in nanoseconds.
func parseDelay(b []byte) (time.Duration, bool) {
	if len(b) == 0 {
		return 0, false
	}
	if b[0] != '{' {
		d, err := time.ParseDuration(string(b))
		return max(d, 0), err == nil
	}
	var options struct {
		Delay time.Duration `json:"delay"`
	}
	err := json.Unmarshal(b, &options)
	return max(options.Delay, 0), err == nil
}

var errNotDelivered = errors.New("durable: the message was not delivered")

// ack applies an acknowledgement. It names a message: whichever delivery of it is acknowledged or terminated, the message
// is done with. A request for another delivery, or for more time, counts only for the newest delivery: whoever had an
// older one has lost the message to somebody else.
func (m *machine) ack(a ack, now time.Time) error {
	if a.place.stream > m.delivered.stream || a.place.stream == 0 {
		return errNotDelivered
	}
	m.last.used, m.last.acked = now, now
	if !m.config.acks() {
		return nil
	}
	e := m.pending.get(a.place.stream)
	switch a.verb {
	case nakVerb:
		if e != nil && a.deliveries >= e.deliveries {
			m.nak(e, a, now)
		}
	case wpiVerb:
		if e != nil && a.deliveries >= e.deliveries {
			m.pending.schedule(e, now.Add(m.wait(e.deliveries)))
			m.unsaved[e.stream] = true
		}
	case termVerb:
		if e != nil {
			m.adviseTerminated(a.place, a.deliveries, a.reason, now)
		}
		m.finish(a.place.stream)
	default:
		if e != nil {
			m.sample(e, a, now)
		}
		m.finish(a.place.stream)
	}
	return nil
}

func (m *machine) nak(e *entry, a ack, now time.Time) {
	m.adviseNak(a, now)
	m.unsaved[e.stream] = true
	switch {
	case a.delayed:
		m.pending.schedule(e, now.Add(a.delay))
	case e.again == nil:
		m.again(e, now)
	}
}

// finish is done with a message; under ack_policy all, also with all before it.
func (m *machine) finish(sequence uint64) {
	if m.config.AckPolicy == AckAll {
		for e := m.pending.first(); e != nil && e.stream < sequence; e = m.pending.first() {
			m.forget(e)
			m.settled(e.stream)
		}
		for before := range m.givenUp {
			if before < sequence {
				m.drop(before)
				m.settled(before)
			}
		}
	}
	if e := m.pending.get(sequence); e != nil {
		m.forget(e)
		m.settled(sequence)
	} else if m.givenUp[sequence] {
		m.drop(sequence)
		m.settled(sequence)
	}
}
