package stream

import (
	"bytes"
	"strings"
	"time"

	"brokerd/topic/subject"
)

// Headers of scheduled messages (ADR-51). A message with headerSchedule is published again, on another subject, at the times
// that it names; what is published names it in headerScheduler.
const (
	headerScheduleZone   = "Nats-Schedule-Time-Zone"
	headerScheduleTarget = "Nats-Schedule-Target"
	headerScheduleSource = "Nats-Schedule-Source"
	headerScheduleTTL    = "Nats-Schedule-TTL"
	headerScheduleRollup = "Nats-Schedule-Rollup"
	headerScheduleNext   = "Nats-Schedule-Next"
	headerScheduler      = "Nats-Scheduler"

	scheduleOver = "purge" // value of headerScheduleNext: the message was for once, and goes
)

// schedule is the times that a message is published at.
type schedule struct {
	at    time.Time     // once
	every time.Duration // from the last time on
	cron  *cron
}

// parseSchedule reads headerSchedule. A zone, nil for none, is for cron's fields alone.
func parseSchedule(pattern string, zone *time.Location) (schedule, bool) {
	if at, ok := strings.CutPrefix(pattern, "@at "); ok {
		t, err := time.Parse(time.RFC3339, at)
		return schedule{at: t}, err == nil && zone == nil
	}
	if every, ok := strings.CutPrefix(pattern, "@every "); ok {
		d, err := time.ParseDuration(every)
		return schedule{every: d}, err == nil && d >= time.Second && zone == nil
	}
	switch pattern {
	case "@yearly", "@annually":
		pattern = "0 0 0 1 1 *"
	case "@monthly":
		pattern = "0 0 0 1 * *"
	case "@weekly":
		pattern = "0 0 0 * * 0"
	case "@daily", "@midnight":
		pattern = "0 0 0 * * *"
	case "@hourly":
		pattern = "0 0 * * * *"
	}
	if zone == nil {
		zone = time.UTC
	}
	c, ok := parseCron(pattern, zone)
	return schedule{cron: c}, ok
}

func (p schedule) once() bool { return !p.at.IsZero() }

// next is when the message is published after the time last. Times that were missed are made up for by one. False when there
// is none.
func (p schedule) next(last, now time.Time) (time.Time, bool) {
	switch {
	case p.once():
		return p.at, true
	case p.cron == nil:
		t := last.Round(time.Second).Add(p.every)
		if t.Before(now) {
			t = now.Round(time.Second).Add(p.every)
		}
		return t.UTC(), true
	}
	t, ok := p.cron.next(last)
	if ok && t.Before(now) {
		t, ok = p.cron.next(now.Round(time.Second))
	}
	return t.UTC(), ok
}

// scheduling is everything that the headers of a message say about publishing it again.
type scheduling struct {
	pattern, target, source, ttl, rollup string
	zone                                 *string // nil for none
}

func parseScheduling(block []byte) (p scheduling) {
	for line := range bytes.Lines(block) {
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !ok {
			continue
		}
		text := string(bytes.TrimSpace(value))
		switch string(name) {
		case headerSchedule:
			p.pattern = text
		case headerScheduleZone:
			p.zone = &text
		case headerScheduleTarget:
			p.target = text
		case headerScheduleSource:
			p.source = text
		case headerScheduleTTL:
			p.ttl = text
		case headerScheduleRollup:
			p.rollup = text
		}
	}
	return p
}

// times reads the pattern. Errors: ErrScheduleZone, ErrSchedulePattern.
func (p *scheduling) times() (schedule, error) {
	var zone *time.Location
	if p.zone != nil {
		var err error
		if zone, err = time.LoadLocation(*p.zone); err != nil || *p.zone == "" {
			return schedule{}, ErrScheduleZone
		}
	}
	times, ok := parseSchedule(p.pattern, zone)
	if !ok {
		return schedule{}, ErrSchedulePattern
	}
	return times, nil
}

// checkSchedule holds a message with headerSchedule, headerScheduler or headerScheduleNext to their rules, in nats-server's
// order. One that is to be published again replaces the last one on its subject. Errors: *Error.
func (c *contents) checkSchedule(conf *Config, m *incoming) error {
	h := &m.headers
	if h.schedule != "" {
		if err := checkScheduling(conf, m); err != nil {
			return err
		}
	}
	switch {
	case h.scheduleNext == "" && h.scheduler == "":
		return nil
	case h.scheduleNext != scheduleOver, h.scheduler == m.Subject, !subject.Literal(h.scheduler):
		return ErrScheduler
	case !conf.Schedules:
		return ErrSchedulesDisabled
	}
	if last := c.newestOf(h.scheduler); last != 0 && !c.schedules.has(last) {
		return ErrScheduler
	}
	return nil
}

func checkScheduling(conf *Config, m *incoming) error {
	p := parseScheduling(m.Header)
	if !conf.Schedules {
		return ErrSchedulesDisabled
	}
	if _, err := p.times(); err != nil {
		return err
	}
	among := func(s string) bool {
		if !subject.Literal(s) || s == m.Subject {
			return false
		}
		for _, own := range conf.Subjects {
			if subject.Match(own, s) {
				return true
			}
		}
		return false
	}
	_, ttlOK := parseTTL(p.ttl)
	switch {
	case p.ttl != "" && !ttlOK:
		return ErrScheduleTTL
	case p.rollup != "" && p.rollup != "sub":
		return ErrScheduleRollup
	case p.ttl != "" && !conf.AllowTTL:
		return ErrTTLDisabled
	case !among(p.target):
		return ErrScheduleTarget
	case p.source != "" && (p.source == p.target || !among(p.source)):
		return ErrScheduleSource
	case m.headers.rollup == "":
		m.headers.rollup = "sub"
		m.Header = setHeader(m.Header, headerRollup, "sub")
	case m.headers.rollup != "sub":
		return ErrScheduleRollup
	}
	return nil
}
