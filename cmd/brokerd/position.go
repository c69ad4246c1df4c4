package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// placesHelp explains what parsePosition understands.
const placesHelp = `A place in a topic is one of
  beginning             the oldest record that is still stored
  end                   behind the newest record
  1500                  an offset, the same in each partition
  -100                  the last 100 offsets of each partition
  2026-03-01            the first record at or after a time: a date, local midnight
  2026-03-01T08:30:00   a local time
  2026-03-01T08:30:00Z  a time with its zone (RFC 3339)
  1767225600000ms       milliseconds since 1970
  -90m, -36h, -7d       so long ago`

// placeKind says how a position is to be read.
type placeKind uint8

const (
	atStart placeKind = iota
	atEnd
	atOffset
	beforeEnd // n offsets before the end
	atTime    // n milliseconds since 1970
)

// position is a place in a topic as a person names it.
type position struct {
	kind placeKind
	n    int64
}

// parsePosition reads what placesHelp explains. A bare number is an offset.
func parsePosition(s string, now time.Time) (position, error) {
	switch s {
	case "beginning", "start", "earliest":
		return position{kind: atStart}, nil
	case "end", "latest":
		return position{kind: atEnd}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 && n != math.MinInt64 {
			return position{beforeEnd, -n}, nil
		}
		if n >= 0 && !strings.HasPrefix(s, "-") {
			return position{atOffset, n}, nil
		}
	}
	t, err := parseTime(s, now)
	if err != nil {
		return position{}, fmt.Errorf("%q is no place in a topic: want beginning, end, an offset or a time such as 2026-03-01T08:30:00Z or -1h", s)
	}
	return position{atTime, t.UnixMilli()}, nil
}

// parseTime reads the times of placesHelp.
func parseTime(s string, now time.Time) (time.Time, error) {
	if ago, ok := strings.CutPrefix(s, "-"); ok {
		d, err := parseAge(ago)
		if err != nil {
			return time.Time{}, err
		}
		return now.Add(-d), nil
	}
	if digits, ok := strings.CutSuffix(s, "ms"); ok {
		if ms, err := strconv.ParseInt(digits, 10, 64); err == nil && ms >= 0 {
			return time.UnixMilli(ms), nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil && t.UnixMilli() >= 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: want 2026-03-01, 2026-03-01T08:30:00Z, 1767225600000ms or -1h", s)
}

// parseAge reads a duration of Go, or days such as 7d.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		const most = int(math.MaxInt64 / (24 * time.Hour))
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= most {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no length of time: want 90m, 36h or 7d", s)
	}
	return d, nil
}

// resolve finds the offset of p in each partition of held, within what the partition holds. Behind the newest record of
// a time there is nothing, so it is the end.
func (p position) resolve(ctx context.Context, adm *kadm.Client, held map[partition]span) (map[partition]int64, error) {
	var byTime map[partition]int64
	if p.kind == atTime {
		var err error
		if byTime, err = listed(adm.ListOffsetsAfterMilli(ctx, p.n, topicsOf(held)...)); err != nil {
			return nil, err
		}
	}
	at := make(map[partition]int64, len(held))
	for part, s := range held {
		switch p.kind {
		case atStart:
			at[part] = s.start
		case atEnd:
			at[part] = s.end
		case atOffset:
			at[part] = s.clamp(p.n)
		case beforeEnd:
			at[part] = s.clamp(s.end - p.n)
		case atTime:
			offset, known := byTime[part]
			if !known || offset < 0 {
				offset = s.end
			}
			at[part] = s.clamp(offset)
		}
	}
	return at, nil
}
