package stream

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// cron is a repeating time given by six fields: second, minute, hour, day of the month, month, day of the week. Each is a set
// of numbers, one bit for each.
type cron struct {
	second, minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                        bool // "*": it is the other one that restricts the day
	zone                                      *time.Location
}

// cronField is what one field may hold.
type cronField struct {
	low, high int
	names     []string // of the numbers from low on
}

func cronFields() [6]cronField {
	return [6]cronField{
		{0, 59, nil}, {0, 59, nil}, {0, 23, nil}, {1, 31, nil},
		{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// cronYears is how far ahead a time is looked for.
const cronYears = 5

// parseCron reads six fields; times are in zone.
func parseCron(pattern string, zone *time.Location) (*cron, bool) {
	fields := strings.Fields(pattern)
	if len(fields) != 6 {
		return nil, false
	}
	var sets [6]uint64
	for i, f := range cronFields() {
		var ok bool
		if sets[i], ok = f.parse(fields[i]); !ok {
			return nil, false
		}
	}
	any := func(field string) bool { return slices.Contains([]string{"*", "?", "*/1", "?/1"}, field) }
	return &cron{
		second: sets[0], minute: sets[1], hour: sets[2], day: sets[3], month: sets[4], weekday: sets[5],
		anyDay: any(fields[3]), anyWeekday: any(fields[5]), zone: zone,
	}, true
}

// parse reads a list of "*", N, N-M, each with an optional /STEP.
func (f cronField) parse(list string) (set uint64, ok bool) {
	for item := range strings.SplitSeq(list, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		low, high, ok := f.span(span, stepped)
		if !ok {
			return 0, false
		}
		step := 1
		if stepped {
			var err error
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, false
			}
		}
		for n := low; n <= high; n += step {
			set |= 1 << n
		}
	}
	return set, true
}

// span reads "*", N or N-M. With a step, N alone means from N on.
func (f cronField) span(s string, stepped bool) (low, high int, ok bool) {
	if s == "*" || s == "?" {
		return f.low, f.high, true
	}
	from, to, isRange := strings.Cut(s, "-")
	low, ok = f.number(from)
	if !ok {
		return 0, 0, false
	}
	switch high = low; {
	case isRange:
		high, ok = f.number(to)
	case stepped:
		high = f.high
	}
	return low, high, ok && low <= high
}

// number reads a number, or its name.
func (f cronField) number(s string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(s)); i >= 0 {
		return f.low + i, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && f.low <= n && n <= f.high
}

// next is the first time after t; false when there is none in the years to come.
func (c *cron) next(t time.Time) (time.Time, bool) {
	t = t.In(c.zone).Truncate(time.Second).Add(time.Second)
	for last := t.Year() + cronYears; t.Year() <= last; {
		year, month, day := t.Date()
		switch {
		case c.month>>month&1 == 0:
			t = later(t, time.Date(year, month+1, 1, 0, 0, 0, 0, c.zone))
		case !c.onDay(t):
			t = later(t, time.Date(year, month, day+1, 0, 0, 0, 0, c.zone))
		case c.hour>>t.Hour()&1 == 0:
			t = t.Add(time.Duration(60-t.Minute())*time.Minute - time.Duration(t.Second())*time.Second)
		case c.minute>>t.Minute()&1 == 0:
			t = t.Add(time.Duration(60-t.Second()) * time.Second)
		case c.second>>t.Second()&1 == 0:
			t = t.Add(time.Second)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

// later is next, unless a change of the clocks makes that no later than t.
func later(t, next time.Time) time.Time {
	if next.After(t) {
		return next
	}
	return t.Add(time.Hour)
}

// onDay says that the day of t is one of them. If both kinds of days are restricted, either is enough, as cron has it.
func (c *cron) onDay(t time.Time) bool {
	day, weekday := c.day>>t.Day()&1 == 1, c.weekday>>t.Weekday()&1 == 1
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
