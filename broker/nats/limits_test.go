package nats

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestTooManyConnections(t *testing.T) {
	h := serveHere(t, Options{Limits: Limits{MaxConnections: 1}})
	h.connect()
	r := h.dial()
	if got := r.until(""); got != "-ERR 'maximum connections exceeded'\r\nEND" {
		t.Errorf("heard %q", got)
	}
}

func TestTooManySubscriptions(t *testing.T) {
	h := serveHere(t, Options{Limits: Limits{MaxSubscriptions: 1}})
	r := h.dial()
	r.send(hello + "SUB a 1\r\nSUB b 2\r\nPING\r\n")
	if got := r.until("PONG\r\n"); got != "-ERR 'maximum subscriptions exceeded'\r\nPONG\r\n" {
		t.Errorf("heard %q", got)
	}
}

func TestClientsThatDoNotAnswerAreStale(t *testing.T) {
	h := serveHere(t, Options{Limits: Limits{PingInterval: 100 * time.Millisecond}})
	for name, text := range map[string]string{"introduced": hello + "PING\r\n", "silent": ""} {
		r := h.dial()
		r.send(text)
		got := strings.NewReplacer("PONG\r\n", "", "PING\r\n", "").Replace(r.until(""))
		if got != "-ERR 'Stale Connection'\r\nEND" {
			t.Errorf("%s: heard %q", name, got)
		}
	}
	nc := h.connect() // answers
	deadline := time.Now().Add(400 * time.Millisecond)
	for time.Now().Before(deadline) {
		if err := nc.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
	}
}

// A subscriber that does not read is closed, others are served, and a publisher is not held for long.
func TestSlowSubscriberIsClosed(t *testing.T) {
	h := serveHere(t, Options{Limits: Limits{MaxPending: 1 << 20}})
	slow := h.dial()
	slow.send(hello + "SUB x 1\r\nPING\r\n")
	slow.until("PONG\r\n")
	healthy, publisher := h.connect(), h.connect()
	sub, err := healthy.SubscribeSync("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := healthy.Flush(); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64<<10)
	deadline := time.Now().Add(patience)
	for h.counts().SlowConsumers == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the slow subscriber is still there")
		}
		if err := publisher.Publish("x", data); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.NextMsg(patience); err != nil {
			t.Fatal(err)
		}
	}
	if err := slow.SetReadDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(slow.in); strings.Contains(string(rest), "-ERR") {
		t.Error("it was told something, which clients take for the end of everything")
	}
	if taken := h.buffers.taken.Load(); taken > 1<<20 {
		t.Errorf("%d bytes still wait", taken)
	}
}

// A client that reads slowly but reads gets everything: publishers give it time.
func TestFastPublisherWaitsALittle(t *testing.T) {
	h := serveHere(t, Options{Limits: Limits{MaxPending: 4 << 20}})
	sub, pub := h.connect(), h.connect()
	const messages = 2000
	got := make(chan struct{}, messages)
	s, err := sub.Subscribe("x", func(*nats.Msg) { got <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	if err := sub.Flush(); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16<<10)
	for range messages {
		if err := pub.Publish("x", data); err != nil {
			t.Fatal(err)
		}
	}
	for range messages {
		select {
		case <-got:
		case <-time.After(patience):
			t.Fatal("messages are missing")
		}
	}
}
