package stream

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestParseHeaders(t *testing.T) {
	h := parseHeaders([]byte("NATS/1.0\r\nNats-Msg-Id:a\r\nNats-Msg-Id: b\r\nnats-rollup: sub\r\nNats-TTL:  1s\r\nX-Nats-Incr: 1\r\nNats-Expected-Stream\r\n\r\n"))
	if want := (headers{id: "a", ttl: "1s"}); h != want {
		t.Errorf("got %+v, want %+v", h, want)
	}
}

func TestSetHeader(t *testing.T) {
	for before, want := range map[string]string{
		"":                                  "NATS/1.0\r\nk: v\r\n\r\n",
		"NATS/1.0\r\n\r\n":                  "NATS/1.0\r\nk: v\r\n\r\n",
		"NATS/1.0\r\nk: 1\r\nkk: 2\r\n\r\n": "NATS/1.0\r\nkk: 2\r\nk: v\r\n\r\n",
	} {
		if got := setHeader([]byte(before), "k", "v"); string(got) != want {
			t.Errorf("%q became %q, want %q", before, got, want)
		}
	}
}

func TestParseTTL(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "1500ms": time.Second, "never": ttlNever, "Never": ttlNever, "10": 10 * time.Second, "2h": 2 * time.Hour,
		"": 0, "0": 0, "1ms": 0, "-1s": 0, "-1": 0, "x": 0, "99999999999999999999": 0, "10000000000": 0,
	} {
		got, ok := parseTTL(text)
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, ok, want)
		}
	}
}

// Nothing panics; a header that is set is found, and nothing else changes; what a reply says of a fast batch is in it.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nNats-Msg-Id: x\r\nNats-TTL: 5\r\n\r\n"), "_INBOX.a.id.10.ok.1.0.$FI")
	f.Add([]byte("Nats-Incr:\r\n:\r\n"), "....")
	f.Fuzz(func(t *testing.T, block []byte, reply string) {
		before := parseHeaders(block)
		if _, ok := parseTTL(before.ttl); ok && before.ttl == "" {
			t.Fatal("no time to live was read as one")
		}
		set := setHeader(block, headerIncrement, "7")
		if !bytes.HasSuffix(set, []byte("\r\n\r\n")) {
			t.Fatalf("%q does not end", set)
		}
		if p, ok := parseFast(reply); ok && (p.number == 0 || !strings.Contains(reply, p.id) || p.every == 0 || p.every > 1<<16) {
			t.Fatalf("%q is read as %+v", reply, p)
		}
	})
}
