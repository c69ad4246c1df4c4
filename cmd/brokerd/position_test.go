package main

import (
	"testing"
	"time"
)

func TestParsePosition(t *testing.T) {
	zone := time.FixedZone("somewhere", 2*3600)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, zone)
	ms := func(y int, m time.Month, d, h, min int, loc *time.Location) position {
		return position{atTime, time.Date(y, m, d, h, min, 0, 0, loc).UnixMilli()}
	}
	for _, c := range []struct {
		in   string
		want position
	}{
		{"beginning", position{kind: atStart}},
		{"earliest", position{kind: atStart}},
		{"end", position{kind: atEnd}},
		{"latest", position{kind: atEnd}},
		{"0", position{atOffset, 0}},
		{"1500", position{atOffset, 1500}},
		{"1767225600000", position{atOffset, 1767225600000}}, // a bare number is an offset, however large
		{"-100", position{beforeEnd, 100}},
		{"-1", position{beforeEnd, 1}},
		{"1767225600000ms", position{atTime, 1767225600000}},
		{"2026-03-01", ms(2026, 3, 1, 0, 0, zone)},
		{"2026-03-01T08:30", ms(2026, 3, 1, 8, 30, zone)},
		{"2026-03-01 08:30:00", ms(2026, 3, 1, 8, 30, zone)},
		{"2026-03-01T08:30:00Z", ms(2026, 3, 1, 8, 30, time.UTC)},
		{"2026-03-01T08:30:00+02:00", ms(2026, 3, 1, 6, 30, time.UTC)},
		{"-1h", ms(2026, 3, 10, 11, 0, zone)},
		{"-90m", ms(2026, 3, 10, 10, 30, zone)},
		{"-7d", ms(2026, 3, 3, 12, 0, zone)},
	} {
		got, err := parsePosition(c.in, now)
		if err != nil || got != c.want {
			t.Errorf("parsePosition(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "x", "-", "--1h", "1h", "+1h", "ms", "-5ms5", "2026-13-01", "2026-03", "1.5",
		"99999999999999999999", "-9223372036854775808", "-9999999999d", "1960-01-01"} {
		if got, err := parsePosition(in, now); err == nil {
			t.Errorf("parsePosition(%q) = %v, want an error", in, got)
		}
	}
}

func TestResolveStaysWithinThePartition(t *testing.T) {
	p := partition{"t", 0}
	held := map[partition]span{p: {100, 200}}
	for _, c := range []struct {
		at   position
		want int64
	}{
		{position{kind: atStart}, 100},
		{position{kind: atEnd}, 200},
		{position{atOffset, 5}, 100},
		{position{atOffset, 150}, 150},
		{position{atOffset, 500}, 200},
		{position{beforeEnd, 10}, 190},
		{position{beforeEnd, 1000}, 100},
	} {
		got, err := c.at.resolve(t.Context(), nil, held)
		if err != nil || got[p] != c.want {
			t.Errorf("%v in [100, 200): got %d, %v; want %d", c.at, got[p], err, c.want)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"end", "-1h", "-7d", "15", "-15", "2026-03-01", "5ms", "-9223372036854775808"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	// It never panics, and an offset or a distance is never negative.
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePosition(s, now)
		if err == nil && p.kind != atTime && p.n < 0 {
			t.Errorf("parsePosition(%q) = %v", s, p)
		}
	})
}
