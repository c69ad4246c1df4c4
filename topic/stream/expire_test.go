package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMaxAge(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, MaxAge: 300 * time.Millisecond})
	began := time.Now()
	b.publish(s, "s.a", "1")
	b.publish(s, "s.b", "2")
	b.until("the messages are gone", func() bool { return b.state(s).Messages == 0 })
	if took := time.Since(began); took < 299*time.Millisecond { // times are in whole milliseconds
		t.Errorf("gone after %v", took)
	}
	if st := b.state(s); st.First != 3 || st.Last != 2 || !st.FirstTime.IsZero() {
		t.Errorf("state %+v", st)
	}
	b.until("the log is empty", func() bool { return len(b.kafka(s)) == 0 })
	b.powerFailure(rand.New(rand.NewPCG(1, 2)))
	if n := b.publish(b.stream("S"), "s.a", "3"); n != 3 {
		t.Errorf("the next sequence is %d", n)
	}
}

func TestTimeToLive(t *testing.T) {
	b := newLive(t)
	b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowTTL: true, MaxAge: 6 * time.Second})
	b.publish(b.stream("S"), "s.a", "1", headerTTL, "4")
	b.publish(b.stream("S"), "s.b", "2", headerTTL, "never")
	b.publish(b.stream("S"), "s.c", "3")
	b.publish(b.stream("S"), "s.a", "4", headerTTL, "4s")
	b.restart()
	s := b.stream("S")
	if got := b.state(s).Messages; got != 4 {
		t.Errorf("%d messages", got)
	}
	b.until("two are gone", func() bool { return slices.Equal(b.held(s), []string{"2 s.b 2", "3 s.c 3"}) })
	b.until("max_age takes another", func() bool { return slices.Equal(b.held(s), []string{"2 s.b 2"}) })
	b.restart()
	if got := b.held(b.stream("S")); !slices.Equal(got, []string{"2 s.b 2"}) {
		t.Errorf("what lives for ever: %q", got)
	}
}

// markers lists messages with the reason that marks a deletion.
func (l *live) marked(s *Stream) (list []string) {
	for n, ok := s.Next(1, nil); ok; n, ok = s.Next(n+1, nil) {
		m, err := s.Get(n)
		if err != nil {
			continue // it expired since
		}
		line := fmt.Sprint(m.Sequence, " ", m.Subject)
		if h := string(m.Header); strings.Contains(h, headerMarker+": MaxAge\r\n") && strings.Contains(h, headerTTL+": 2s\r\n") {
			line += " marked"
		}
		list = append(list, line)
	}
	return list
}

func TestDeleteMarkers(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{
		Name: "S", Subjects: []string{"s.*"}, MaxAge: time.Second, AllowTTL: true, AllowRollup: true, MarkerTTL: 2 * time.Second,
	})
	b.publish(s, "s.a", "1")
	b.publish(s, "s.a", "2")
	b.publish(s, "s.b", "3", headerOperation, "PURGE", headerTTL, "2s")
	b.until("a marker stands for s.a", func() bool { return slices.Equal(b.marked(s), []string{"4 s.a marked"}) })
	b.until("the marker is gone", func() bool { return b.state(s).Messages == 0 })
	if st := b.state(s); st.Last != 4 {
		t.Errorf("state %+v", st)
	}
}

// A time to live below that of markers is made as long, where a marker could be missed otherwise.
func TestShortTimeToLiveWithMarkers(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowTTL: true, AllowRollup: true, MarkerTTL: time.Hour})
	b.publish(s, "s.a", "1", "x", "y", headerTTL, "1s")
	m, err := s.Get(1)
	if err != nil || string(m.Header) != string(block("x", "y", headerTTL, "3600")) {
		t.Errorf("stored %q, %v", m.Header, err)
	}
}

// A marker that no consumer wants is not kept, but what it stands for goes.
func TestMarkerNobodyWants(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{
		Name: "S", Subjects: []string{"s.*"}, Retention: Interest, MaxAge: 200 * time.Millisecond, AllowTTL: true, AllowRollup: true,
		MarkerTTL: time.Second,
	})
	s.SetInterest(func(string) bool { return true })
	b.publish(s, "s.a", "1")
	b.publish(s, "s.b", "2")
	s.SetInterest(func(string) bool { return false })
	b.until("the messages are gone", func() bool { return b.state(s).Messages == 0 })
	if st := b.state(s); st.Last != 4 || st.Subjects != 0 {
		t.Errorf("state %+v", st)
	}
}
