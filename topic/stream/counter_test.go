package stream

import (
	"slices"
	"strings"
	"testing"
)

func TestCounters(t *testing.T) {
	b := newLive(t)
	b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowCounter: true, MaxMsgsPer: 2})
	big := strings.Repeat("9", 40)
	sum := "1" + strings.Repeat("0", 40)
	for _, step := range []struct{ subject, increment, want string }{
		{"s.a", "1", "1"}, {"s.a", "+2", "3"}, {"s.b", "-5", "-5"}, {"s.a", "-4", "-1"}, {"s.c", big, big}, {"restart", "", ""},
		{"s.c", "1", sum}, {"s.a", "0", "-1"}, {"restart", "", ""}, {"s.b", "5", "0"}, {"s.b", "1", "1"},
	} {
		if step.subject == "restart" {
			b.restart()
			continue
		}
		a := b.await(send(b.stream("S"), step.subject, "", headerIncrement, step.increment))
		if a.err != nil || a.Value != step.want {
			t.Fatalf("%s + %s: %+v, want %s", step.subject, step.increment, a, step.want)
		}
	}
	s := b.stream("S")
	want := []string{`4 s.a {"val":"-1"}`, `5 s.c {"val":"` + big + `"}`, `6 s.c {"val":"` + sum + `"}`, `7 s.a {"val":"-1"}`, `8 s.b {"val":"0"}`, `9 s.b {"val":"1"}`}
	if got := b.held(s); !slices.Equal(got, want) {
		t.Errorf("holds %q", got)
	}
	for _, c := range []struct {
		data   string
		header []string
		want   error
	}{
		{"", nil, ErrCounterIncrementMissing},
		{"x", []string{headerIncrement, "1"}, ErrCounterPayload},
		{"", []string{headerIncrement, "one"}, ErrCounterIncrement},
		{"", []string{headerIncrement, "1", headerExpectedLast, "3"}, ErrCounterIncrement},
	} {
		if a := b.await(send(s, "s.a", c.data, c.header...)); a.err != c.want {
			t.Errorf("%q: %+v, want %v", c.header, a, c.want)
		}
	}
}

// Many increments on their way at once add up.
func TestCountersInFlight(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowCounter: true, MaxMsgsPer: 1})
	var all []chan answer
	for range 500 {
		all = append(all, send(s, "s.a", "", headerIncrement, "1"))
	}
	var last string
	for _, c := range all {
		a := b.await(c)
		if a.err != nil {
			t.Fatal(a.err)
		}
		last = a.Value
	}
	if last != "500" {
		t.Errorf("adds up to %s", last)
	}
}
