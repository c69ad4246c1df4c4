package stream

import (
	"reflect"
	"slices"
	"testing"

	"brokerd/log"
)

// listed lists records as "sequence key value".
func listed(t failer, data []byte, from int64) (list []string) {
	for len(data) > 0 {
		b, rest, err := log.ParseBatch(data)
		if err != nil {
			t.Fatal(err)
		}
		data = rest
		err = b.Each(unpackLimit, func(r log.Record) bool {
			if r.Offset >= from {
				list = append(list, text(r))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func TestPublishAndRead(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.>"}})
	if st := b.state(s); st != (State{}) {
		t.Errorf("a stream that was never written to: %+v", st)
	}
	b.publish(s, "s.a", "1")
	b.publish(s, "s.b", "2", "Nats-Msg-Id", "x", "other", "y")
	want := []string{"1 s.a 1", "2 s.b 2"}
	for range 2 {
		s := b.stream("S")
		if got := b.held(s); !slices.Equal(got, want) {
			t.Fatalf("read %q", got)
		}
		m, err := s.Last("s.*")
		if err != nil || m.Sequence != 2 || string(m.Header) != string(block("Nats-Msg-Id", "x", "other", "y")) {
			t.Fatalf("last: %+v, %v", m, err)
		}
		st := b.state(s)
		if st.Messages != 2 || st.First != 1 || st.Last != 2 || st.Subjects != 2 || st.Bytes == 0 || st.FirstTime.IsZero() {
			t.Errorf("%+v", st)
		}
		if dup := b.await(send(s, "s.b", "2", "Nats-Msg-Id", "x")); !dup.Duplicate || dup.Sequence != 2 || dup.err != nil {
			t.Errorf("published again: %+v", dup)
		}
		b.restart()
		if again := b.state(b.stream("S")); !reflect.DeepEqual(again, st) {
			t.Errorf("after a restart: %+v, before: %+v", again, st)
		}
	}
}
