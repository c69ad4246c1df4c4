package stream

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestScheduleTimes(t *testing.T) {
	last := time.Date(2024, 2, 28, 23, 59, 58, 500e6, time.UTC)
	for _, c := range []struct{ pattern, zone, want string }{
		{"@at 2030-01-02T03:04:05Z", "", "2030-01-02T03:04:05Z"},
		{"@at 2030-01-02T03:04:05Z", "UTC", "no"},
		{"@at tomorrow", "", "no"},
		{"@every 90s", "", "2024-02-29T00:01:29Z"},
		{"@every 500ms", "", "no"},
		{"@every 1m", "UTC", "no"},
		{"* * * * * *", "", "2024-02-28T23:59:59Z"},
		{"0 30 * * * *", "", "2024-02-29T00:30:00Z"},
		{"@hourly", "", "2024-02-29T00:00:00Z"},
		{"@yearly", "", "2025-01-01T00:00:00Z"},
		{"@weekly", "", "2024-03-03T00:00:00Z"},
		{"0 0 9 * * *", "America/New_York", "2024-02-29T14:00:00Z"},
		{"0 0 0 29 2 *", "", "2024-02-29T00:00:00Z"},
		{"0 0 0 30 2 *", "", "never"},
		{"0 0 0 1 * mon", "", "2024-03-01T00:00:00Z"},
		{"0 0 0 * MAR-APR MON-FRI", "", "2024-03-01T00:00:00Z"},
		{"0/20 * * * * *", "", "2024-02-29T00:00:00Z"},
		{"*/20,58-59 * * * * *", "", "2024-02-28T23:59:59Z"},
		{"0 30 2 10 3 ?", "America/New_York", "2025-03-10T06:30:00Z"}, // on that day of 2024 there is no half past two
		{"60 * * * * *", "", "no"},
		{"5-1 * * * * *", "", "no"},
		{"*/0 * * * * *", "", "no"},
		{"* * * * *", "", "no"},
		{"a * * * * *", "", "no"},
		{"", "", "no"},
	} {
		t.Run(c.pattern+" "+c.zone, func(t *testing.T) {
			p := scheduling{pattern: c.pattern}
			if c.zone != "" {
				p.zone = &c.zone
			}
			got := "no"
			if times, err := p.times(); err == nil {
				if next, ok := times.next(last, last); ok {
					got = next.Format(time.RFC3339)
				} else {
					got = "never"
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What was missed is made up for by one.
func TestScheduleMissed(t *testing.T) {
	last := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	now := last.Add(time.Hour)
	for pattern, want := range map[string]time.Time{
		"@every 10m": now.Add(10 * time.Minute), "0 */10 * * * *": now.Add(10 * time.Minute),
		"@at 2023-01-01T00:00:00Z": time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		p := scheduling{pattern: pattern}
		times, err := p.times()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := times.next(last, now); !ok || !got.Equal(want) {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}

func scheduled() Config {
	return Config{Name: "S", Subjects: []string{"plan.*", "tick.*", "data.*"}, Schedules: true, AllowTTL: true}
}

func TestScheduleRules(t *testing.T) {
	every := []string{headerSchedule, "@every 1h", headerScheduleTarget, "tick.a"}
	with := func(more ...string) []string { return append(slices.Clone(every), more...) }
	for _, c := range []struct {
		name   string
		header []string
		want   error
	}{
		{"good", every, nil},
		{"all of them", with(headerScheduleSource, "data.a", headerScheduleTTL, "1h", headerScheduleRollup, "sub"), nil},
		{"no pattern", []string{headerSchedule, "soon", headerScheduleTarget, "tick.a"}, ErrSchedulePattern},
		{"no zone", with(headerScheduleZone, "Nowhere"), ErrScheduleZone},
		{"no target", []string{headerSchedule, "@every 1h"}, ErrScheduleTarget},
		{"itself", []string{headerSchedule, "@every 1h", headerScheduleTarget, "plan.a"}, ErrScheduleTarget},
		{"elsewhere", []string{headerSchedule, "@every 1h", headerScheduleTarget, "other"}, ErrScheduleTarget},
		{"source is target", with(headerScheduleSource, "tick.a"), ErrScheduleSource},
		{"source elsewhere", with(headerScheduleSource, "other"), ErrScheduleSource},
		{"no TTL", with(headerScheduleTTL, "soon"), ErrScheduleTTL},
		{"no rollup", with(headerScheduleRollup, "all"), ErrScheduleRollup},
		{"rolls up all", with(headerRollup, "all"), ErrScheduleRollup},
		{"ends itself", []string{headerScheduler, "plan.a", headerScheduleNext, "purge"}, ErrScheduler},
		{"ends what is none", []string{headerScheduler, "data.a", headerScheduleNext, "purge"}, ErrScheduler},
		{"ends nothing", []string{headerScheduler, "plan.b", headerScheduleNext, "purge"}, nil},
		{"moves one", []string{headerScheduler, "plan.b", headerScheduleNext, "2030-01-01T00:00:00Z"}, ErrScheduler},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newLive(t)
			s := b.create(scheduled())
			b.publish(s, "data.a", "1")
			if a := b.await(send(s, "plan.a", "x", c.header...)); !errors.Is(a.err, c.want) {
				t.Errorf("got %v, want %v", a.err, c.want)
			}
		})
	}
}

// awaitSubject waits until a subject has so many messages.
func awaitSubject(t *testing.T, s *Stream, subject string, n uint64) {
	t.Helper()
	ch := make(chan struct{}, 1)
	defer s.Watch(ch)()
	limit := time.After(20 * time.Second)
	for {
		have, err := s.Subjects(subject)
		if err != nil {
			t.Fatal(err)
		}
		if have[subject] >= n {
			return
		}
		select {
		case <-ch:
		case <-limit:
			t.Fatalf("%s has %d messages, want %d", subject, have[subject], n)
		}
	}
}

// A message for once is published in time, or after the restart that kept it from being, and then goes.
func TestScheduleOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint(restart), func(t *testing.T) {
			b := newLive(t)
			s := b.create(scheduled())
			at := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
			b.publish(s, "plan.a", "hello", headerSchedule, "@at "+at, headerScheduleTarget, "tick.a", "own", "1")
			if restart {
				b.restart()
				s = b.stream("S")
			}
			awaitSubject(t, s, "tick.a", 1)
			m, err := s.Last("tick.a")
			if err != nil || string(m.Data) != "hello" {
				t.Fatalf("%+v, %v", m, err)
			}
			want := block("own", "1", headerScheduler, "plan.a", headerScheduleNext, "purge")
			if string(m.Header) != string(want) {
				t.Errorf("header %q, want %q", m.Header, want)
			}
			for range 2 {
				if _, err := s.Last("plan.a"); !errors.Is(err, ErrNoMessage) {
					t.Errorf("the schedule is still there: %v", err)
				}
				b.restart()
				s = b.stream("S")
			}
			if n, _ := s.Subjects("tick.a"); n["tick.a"] != 1 {
				t.Errorf("published %d times", n["tick.a"])
			}
		})
	}
}

// One that repeats takes what is newest in its source, and goes on after a restart.
func TestScheduleRepeats(t *testing.T) {
	b := newLive(t)
	s := b.create(scheduled())
	b.publish(s, "data.a", "1")
	b.publish(s, "plan.a", "", headerSchedule, "@every 1s", headerScheduleTarget, "tick.a", headerScheduleSource, "data.a")
	awaitSubject(t, s, "tick.a", 1)
	b.restart()
	s = b.stream("S")
	b.publish(s, "data.a", "2")
	awaitSubject(t, s, "tick.a", 3)
	m, err := s.Last("tick.a")
	if err != nil || string(m.Data) != "2" {
		t.Fatalf("%+v, %v", m, err)
	}
	if h := parseHeaders(m.Header); h.scheduler != "plan.a" || h.scheduleNext == "" || h.scheduleNext == "purge" {
		t.Errorf("header %q", m.Header)
	}
	if a := b.await(send(s, "data.a", "3", headerScheduler, "plan.a", headerScheduleNext, "purge")); a.err != nil {
		t.Fatal(a.err)
	}
	if _, err := s.Last("plan.a"); !errors.Is(err, ErrNoMessage) {
		t.Errorf("the schedule is still there: %v", err)
	}
}
