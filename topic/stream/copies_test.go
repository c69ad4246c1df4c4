package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func (l *live) wants(s *Stream, want ...string) {
	l.t.Helper()
	var got []string
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if got = l.held(s); slices.Equal(got, want) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	l.t.Fatalf("%s holds %q, want %q", s.Name(), got, want)
}

func TestMirror(t *testing.T) {
	l := newLive(t)
	mirror := l.create(Config{Name: "M", Mirror: &Source{Name: "O"}})
	l.wants(mirror) // the origin comes later
	o := l.create(Config{Name: "O", Subjects: []string{"o.>"}, FirstSeq: 7})
	l.publish(o, "o.a", "1", "Nats-Msg-Id", "x")
	l.publish(o, "o.b", "2")
	l.publish(o, "o.c", "3")
	if err := o.Delete(8, false); err != nil {
		t.Fatal(err)
	}
	// It copied 8 before that was deleted, or not.
	l.until("the mirror has the last message", func() bool { _, err := mirror.Get(9); return err == nil })
	got, err := mirror.Get(7)
	if err != nil || got.Subject != "o.a" || string(got.Header) != string(block("Nats-Msg-Id", "x")) {
		t.Fatalf("%+v, %v", got, err)
	}
	if was, _ := o.Get(7); !was.Time.Equal(got.Time) {
		t.Errorf("the copy's time is %s, the message's %s", got.Time, was.Time)
	}
	if a := l.await(send(mirror, "o.a", "x")); a.err == nil {
		t.Error("a mirror takes messages")
	}

	l.restart()
	o, mirror = l.stream("O"), l.stream("M")
	l.publish(o, "o.d", "4")
	l.until("the mirror has what came after the restart", func() bool { m, err := mirror.Last("o.d"); return err == nil && m.Sequence == 10 })
	l.until("the mirror knows that", func() bool {
		info, _ := l.Copies(mirror)
		return info != nil && info.Name == "O" && info.Lag == 0 && info.Active >= 0 && info.Error == nil
	})

	if _, err := l.Update(Config{Name: "M", Subjects: []string{"m"}}, false); err != nil { // promoted
		t.Fatal(err)
	}
	if seq := l.publish(mirror, "m", "own"); seq != 11 {
		t.Errorf("the first message of its own has sequence %d", seq)
	}
	l.publish(o, "o.e", "5")
	l.until("the copying ended", func() bool { info, _ := l.Copies(mirror); return info == nil })
	if st := l.state(mirror); st.Last != 11 {
		t.Errorf("%+v", st)
	}
}

func TestMirrorLeavesOut(t *testing.T) {
	l := newLive(t)
	o := l.create(Config{Name: "O", Subjects: []string{"o.>"}})
	for i := range 10 {
		l.publish(o, fmt.Sprintf("o.%d", i%2), fmt.Sprint(i))
	}
	l.wants(l.create(Config{Name: "FILTERED", Mirror: &Source{Name: "O", Filter: "o.1", StartSeq: 4}}),
		"4 o.1 3", "6 o.1 5", "8 o.1 7", "10 o.1 9")
	l.wants(l.create(Config{Name: "RENAMED", Mirror: &Source{Name: "O", StartSeq: 8, Transforms: []TransformConfig{
		{Source: "o.0", Destination: "even"}, {Source: "o.1", Destination: ""}}}}),
		"8 o.1 7", "9 even 8", "10 o.1 9")
	middle, err := o.Get(6)
	if err != nil {
		t.Fatal(err)
	}
	at := middle.Time
	late := l.create(Config{Name: "LATE", Mirror: &Source{Name: "O", StartTime: &at}})
	l.until("it has the last", func() bool { _, err := late.Get(10); return err == nil })
	if _, err := late.Get(6); err != nil {
		t.Errorf("the first at that time: %v", err)
	}
	if st := l.state(l.stream("FILTERED")); st.First != 4 || st.Last != 10 || st.Deleted != 3 {
		t.Errorf("%+v", st)
	}
}

func TestSources(t *testing.T) {
	l := newLive(t)
	a := l.create(Config{Name: "A", Subjects: []string{"a.>"}})
	b := l.create(Config{Name: "B", Subjects: []string{"b.>"}})
	l.publish(a, "a.1", "a1", "Nats-Expected-Last-Sequence", "0", "Keep", "it")
	l.publish(a, "a.2", "a2")
	s := l.create(Config{Name: "S", Subjects: []string{"own"}, Sources: []*Source{{Name: "A", Filter: "a.1"}}})
	l.wants(s, "1 a.1 a1")
	m, err := s.Get(1)
	if want := block("Keep", "it", "Nats-Stream-Source", "A 1 a.1 > a.1 "+a.identity()); err != nil || string(m.Header) != string(want) {
		t.Fatalf("header %q, want %q, %v", m.Header, want, err)
	}
	l.publish(s, "own", "own")
	if _, err := l.Update(Config{Name: "S", Subjects: []string{"own"}, Sources: []*Source{
		{Name: "A", Filter: "a.1"},
		{Name: "B", Transforms: []TransformConfig{{Source: "b.*", Destination: "c.$1"}}},
	}}, false); err != nil {
		t.Fatal(err)
	}
	l.publish(b, "b.x", "b1")
	l.wants(s, "1 a.1 a1", "2 own own", "3 c.x b1")
	if m, _ := s.Get(3); !strings.Contains(string(m.Header), "Nats-Stream-Source: B 1 b.* c.$1 b.x "+b.identity()+"\r\n") {
		t.Errorf("header %q", m.Header)
	}
	for range 3 {
		l.restart()
		a, s = l.stream("A"), l.stream("S")
	}
	l.publish(a, "a.1", "a3")
	l.wants(s, "1 a.1 a1", "2 own own", "3 c.x b1", "4 a.1 a3")
	_, sources := l.Copies(s)
	if len(sources) != 2 || sources[0].Name != "A" || sources[0].Filter != "a.1" || len(sources[1].Transforms) != 1 {
		t.Errorf("%+v", sources)
	}
}

// What a work queue gave away is not copied into it again.
func TestSourcesSurviveDeletes(t *testing.T) {
	l := newLive(t)
	a := l.create(Config{Name: "A"})
	s := l.create(Config{Name: "S", Sources: []*Source{{Name: "A"}}})
	for i := range 5 {
		l.publish(a, "A", fmt.Sprint(i))
	}
	l.until("all is copied", func() bool { return l.state(s).Messages == 5 })
	if _, err := s.Purge(Purge{}); err != nil {
		t.Fatal(err)
	}
	l.restart()
	a, s = l.stream("A"), l.stream("S")
	l.publish(a, "A", "after")
	l.wants(s, "6 A after")
}

func TestSourceWaitsForRoom(t *testing.T) {
	l := newLive(t)
	a := l.create(Config{Name: "A"})
	s := l.create(Config{Name: "S", Sources: []*Source{{Name: "A"}}, Discard: DiscardNew, MaxMsgs: 2})
	for i := range 4 {
		l.publish(a, "A", fmt.Sprint(i))
	}
	l.wants(s, "1 A 0", "2 A 1")
	l.until("it says why", func() bool {
		_, sources := l.Copies(s)
		return sources[0].Error != nil && errors.Is(sources[0].Error, StoreFailed(errMaxMessages)) && sources[0].Lag == 2
	})
	if _, err := s.Purge(Purge{}); err != nil {
		t.Fatal(err)
	}
	l.wants(s, "3 A 2", "4 A 3")
}

// Copies have every message once, in order, through power failures.
func TestCopiesSurviveCrashes(t *testing.T) {
	l := newLive(t)
	l.create(Config{Name: "O", Subjects: []string{"o"}})
	l.create(Config{Name: "M", Mirror: &Source{Name: "O"}})
	l.create(Config{Name: "S", Sources: []*Source{{Name: "O"}}})
	n := 0
	for range 6 {
		o := l.stream("O")
		for range 20 {
			l.publish(o, "o", fmt.Sprint(n))
			n++
		}
		l.powerFailure(nil)
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("%d o %d", i+1, i))
	}
	l.wants(l.stream("M"), want...)
	l.wants(l.stream("S"), want...)
}

func TestParseSourceHeader(t *testing.T) {
	s := &Source{Name: "A", Transforms: []TransformConfig{{Source: "a.*", Destination: "b.$1"}, {Source: "c"}}}
	for _, c := range []struct {
		value, key string
		at         position
		ok         bool
	}{
		{"A 5 a.*\fc b.$1\f> a.x", s.key(), position{Sequence: 5}, true},
		{"A 5 > >", (&Source{Name: "A"}).key(), position{Sequence: 5}, true},
		{"A 5 > > a.b ident", (&Source{Name: "A"}).key(), position{5, "ident"}, true},
		{"A x > > a", "", position{}, false},
		{"A 5", "", position{}, false},
		{"", "", position{}, false},
	} {
		key, at, ok := parseSourceHeader(c.value)
		if ok != c.ok || ok && (key != c.key || at != c.at) {
			t.Errorf("%q: %q %+v %v", c.value, key, at, ok)
		}
	}
}

// A stream that was deleted and made anew is copied from its beginning.
func TestSourceMadeAnew(t *testing.T) {
	l := newLive(t)
	a := l.create(Config{Name: "A"})
	s := l.create(Config{Name: "S", Sources: []*Source{{Name: "A"}}})
	l.publish(a, "A", "1")
	l.publish(a, "A", "2")
	l.wants(s, "1 A 1", "2 A 2")
	l.wants(l.create(Config{Name: "M", Mirror: &Source{Name: "A"}}), "1 A 1", "2 A 2")
	if err := l.Delete("A"); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.publish(l.create(Config{Name: "A"}), "A", "anew")
	l.wants(l.stream("S"), "1 A 1", "2 A 2", "3 A anew")
	l.until("the mirror says that it is ahead", func() bool {
		info, _ := l.Copies(l.stream("M"))
		return info.Error != nil && info.Error.ErrCode == 10029
	})
}

func TestSourceComesBack(t *testing.T) {
	l := newLive(t)
	a := l.create(Config{Name: "A"})
	config := Config{Name: "S", Subjects: []string{"S"}, Sources: []*Source{{Name: "A"}}}
	s := l.create(config)
	l.publish(a, "A", "1")
	l.wants(s, "1 A 1")
	without := config
	without.Sources = nil
	if _, err := l.Update(without, false); err != nil {
		t.Fatal(err)
	}
	l.publish(a, "A", "2")
	l.until("the copying ended", func() bool { _, sources := l.Copies(s); return sources == nil })
	if _, err := l.Update(config, false); err != nil {
		t.Fatal(err)
	}
	l.wants(s, "1 A 1", "2 A 2")
}
