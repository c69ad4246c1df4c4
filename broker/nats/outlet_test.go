package nats

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brokerd/consumer/durable"
)

// serveStreams is a server with JetStream and limits, and a client of it.
func serveStreams(t *testing.T, l Limits) (*house, jetstream.JetStream) {
	t.Helper()
	h := closedHouse(t, Options{Limits: l})
	streams, consumers, run := jetStream(t, h.Outlet(), h.Advise)
	h.Attach(streams, consumers)
	run()
	h.open()
	js, err := jetstream.New(h.connect())
	if err != nil {
		t.Fatal(err)
	}
	return h, js
}

// A publisher that is faster than the disk is not read, and loses nothing. Others are served meanwhile.
func TestPublisherWaitsForTheDisk(t *testing.T) {
	h, other := serveStreams(t, Limits{InFlight: 64 << 10})
	ctx := soon(t)
	s, err := other.CreateStream(ctx, jetstream.StreamConfig{Name: "S"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.CreateStream(ctx, jetstream.StreamConfig{Name: "OTHER"}); err != nil {
		t.Fatal(err)
	}
	nc := h.connect()
	const messages, size = 500, 4 << 10
	for range messages {
		if err := nc.Publish("S", make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if n := h.Stats().BytesInFlight; n > 64<<10 {
			t.Fatalf("%d bytes are in flight", n)
		}
	}
	if _, err := other.Publish(ctx, "OTHER", nil); err != nil {
		t.Error(err)
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Publish(ctx, "S", nil); err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx)
	if err != nil || info.State.Msgs != messages+1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// A publisher that does not read its acknowledgements is not read either, before it would have to be closed.
func TestPublisherThatDoesNotReadAcknowledgements(t *testing.T) {
	h, js := serveStreams(t, Limits{MaxPending: 64 << 10, InFlight: 16 << 10})
	if _, err := js.CreateStream(soon(t), jetstream.StreamConfig{Name: "S", Storage: jetstream.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	r := h.dial()
	c := h.Server.open()[1]
	if err := errors.Join(r.Conn.(*net.TCPConn).SetReadBuffer(64<<10), c.nc.(*net.TCPConn).SetWriteBuffer(64<<10)); err != nil {
		t.Fatal(err)
	}
	r.send(hello + "SUB a 1\r\n")
	const messages = 30_000
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(r, strings.Repeat("PUB S a 0\r\n\r\n", messages))
		sent <- err
	}()
	deadline := time.Now().Add(patience)
	for held := false; !held; held = c.pulse.held.Load() && c.out.nearlyFull() != nil {
		if time.Now().After(deadline) {
			t.Fatal("the publisher was never held")
		}
	}
	for acks := 0; acks < messages; {
		if strings.HasPrefix(r.line(), "MSG a 1 ") {
			acks++
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A pull that asks for more than the connection may have waiting does not end it.
func TestPullLargerThanTheConnectionTakes(t *testing.T) {
	h, js := serveStreams(t, Limits{MaxPending: 2 << 20})
	ctx := soon(t)
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S"})
	if err != nil {
		t.Fatal(err)
	}
	const messages, size = 200, 64 << 10
	for range messages {
		if _, err := js.PublishAsync("S", make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		t.Fatal("not all is acknowledged")
	}
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	name := c.CachedInfo().Name
	r := h.dial() // asks for everything, and reads nothing for a while
	r.send(hello + "SUB in.box 1\r\nPUB $JS.API.CONSUMER.MSG.NEXT.S." + name + " in.box 3\r\n200\r\nPING\r\n")
	out := outlet{h.Server}
	deadline := time.Now().Add(patience)
	for out.Room("in.box") > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the connection never had enough")
		}
	}
	got := 0
	for got < messages {
		var subject, sid, reply string
		var n int
		line := r.line()
		if _, err := fmt.Sscanf(line, "MSG %s %s %s %d", &subject, &sid, &reply, &n); err != nil {
			continue // INFO, PONG
		}
		if subject != "S" || n != size {
			t.Fatalf("%q", line)
		}
		if _, err := r.in.Discard(n + 2); err != nil {
			t.Fatal(err)
		}
		got++
	}
	if n := h.Stats().SlowConsumers; n != 0 {
		t.Errorf("%d connections were closed", n)
	}
}

func TestOutlet(t *testing.T) {
	h := serveHere(t, Options{})
	out := outlet{h.Server}
	ch := make(chan struct{}, 1)
	defer out.Watch("in.box", ch)()
	if out.Listening("in.box", "") || out.Send(durable.Delivery{Inbox: "in.box"}) || out.Room("in.box") < 1<<40 {
		t.Error("somebody listens")
	}
	nc := h.connect()
	plain, err := nc.SubscribeSync("in.*")
	if err != nil {
		t.Fatal(err)
	}
	<-ch
	if out.Listening("in.box", "q") || !out.Listening("in.box", "") {
		t.Error("not who listens is told")
	}
	queue, err := nc.QueueSubscribeSync("in.box", "q")
	if err != nil {
		t.Fatal(err)
	}
	<-ch
	d := durable.Delivery{Inbox: "in.box", Group: "q", Subject: "real.subject", Reply: "back", Header: []byte("NATS/1.0\r\nA: 1\r\n\r\n"), Data: []byte("x")}
	if !out.Listening("in.box", "q") || !out.Send(d) || out.Room("in.box") <= 0 {
		t.Error("the group is not there")
	}
	for _, sub := range []*nats.Subscription{plain, queue} {
		m, err := sub.NextMsg(patience)
		if err != nil || m.Subject != "real.subject" || m.Reply != "back" || m.Header.Get("A") != "1" || string(m.Data) != "x" {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if err := queue.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	<-ch
	if out.Send(d) {
		t.Error("sent to a group that has nobody")
	}
	nc.Close()
	<-ch
}
