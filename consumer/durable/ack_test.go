package durable

import (
	"testing"
	"time"
)

func TestParseAck(t *testing.T) {
	const subject = "$JS.ACK.S.c.2.7.9.1700000000000000000.3"
	for _, c := range []struct {
		body string
		want ack
	}{
		{"", ack{}}, {"+ACK", ack{}}, {"+OK", ack{}},
		{"-NAK", ack{verb: nakVerb}},
		{"-NAK 10s", ack{verb: nakVerb, delay: 10 * time.Second, delayed: true}},
		{`-NAK {"delay": 1000}`, ack{verb: nakVerb, delay: 1000, delayed: true}},
		{`-NAK {"delay": -5}`, ack{verb: nakVerb, delayed: true}},
		{"-NAK soon", ack{verb: nakVerb}},
		{"+WPI", ack{verb: wpiVerb}},
		{"+TERM", ack{verb: termVerb}},
		{"+TERM  it is bad ", ack{verb: termVerb, reason: "it is bad"}},
		{"+NXT", ack{verb: nextVerb}},
	} {
		got, err := parseAck(subject, []byte(c.body))
		if err != nil || got.names != (names{"S", "c"}) || got.deliveries != 2 || got.place != (place{9, 7}) {
			t.Fatalf("%q: %+v, %v", c.body, got, err)
		}
		if got.verb != c.want.verb || got.delay != c.want.delay || got.delayed != c.want.delayed || got.reason != c.want.reason {
			t.Errorf("%q is %+v", c.body, got)
		}
	}
	for _, bad := range []string{"", "$JS.ACK.", "$JS.ACK.S.c.1.2.3.4", "$JS.ACK.S.c.1.2.3.4.5.6", "$JS.ACK.S.c.1.-2.3.4.5", "X.JS.S.c.1.2.3.4.5"} {
		if _, err := parseAck(bad, nil); err == nil {
			t.Errorf("%q is an ack subject", bad)
		}
	}
}

// Whatever comes: no panic, and what is read says what was sent.
//   - a subject that is read has nine tokens
//   - a delay is never negative
func FuzzParseAck(f *testing.F) {
	f.Add("$JS.ACK.S.c.2.7.9.1700000000000000000.3", []byte("-NAK 10s"))
	f.Add("$JS.ACK.S.c.2.7.9.17.3", []byte(`-NAK {"delay":1}`))
	f.Add("$JS.ACK.S.c.2.7.9.17", []byte("+TERM x"))
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		a, err := parseAck(subject, body)
		if err == nil && (a.delay < 0 || a.delay > 0 && !a.delayed) {
			t.Errorf("%q %q is %+v", subject, body, a)
		}
	})
}

// Whatever comes: no panic; a request that is read asks for something, and its heartbeat fits into its time.
func FuzzParsePull(f *testing.F) {
	f.Add([]byte("10"))
	f.Add([]byte(`{"batch":10,"expires":1000,"idle_heartbeat":500,"no_wait":true,"max_bytes":-1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := parsePull(body)
		if err == nil && (b.Batch < 1 || b.Heartbeat > 0 && b.Heartbeat > b.Expires-b.Heartbeat) {
			t.Errorf("%q is %+v", body, b)
		}
	})
}

// Whatever is in the database: no panic, and what is read is written the same way.
func FuzzRecords(f *testing.F) {
	f.Add(names{"S", "c"}.key(), position{place{1, 2}, place{3, 4}, 5, [2]int64{6, 7}}.encode())
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if n, rest, err := decodeNames(key); err == nil && len(rest) == 0 && string(n.key()) != string(key) {
			if again, _, err := decodeNames(n.key()); err != nil || again != n {
				t.Errorf("key %q is %+v", key, n)
			}
		}
		if p, err := decodePosition(value); err == nil && string(p.encode()) != string(value) {
			t.Errorf("position %x is %+v", value, p)
		}
		if s, err := decodeSaved(value); err == nil && string(s.encode()) != string(value) {
			t.Errorf("entry %x is %+v", value, s)
		}
		if i, err := decodeIdentity(value); err == nil {
			if _, err := i.encode(); err != nil {
				t.Error(err)
			}
		}
	})
}
