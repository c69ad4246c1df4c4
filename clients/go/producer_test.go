package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

func TestPublishIsAcknowledgedInOrder(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	p := producer(t, nc, client.ProducerConfig{MaxMessages: 16})
	var all []*client.Pending
	for range 500 {
		all = append(all, publish(t, p, name+".x", "hello"))
		if n, _ := p.InFlight(); n > 16 {
			t.Fatalf("%d messages are on their way", n)
		}
	}
	if err := p.Flush(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	for i, f := range all {
		ack, err := f.Wait(t.Context())
		if err != nil || ack.Offset() != int64(i) || ack.Stream != name || ack.Duplicate {
			t.Fatalf("message %d: %+v, %v", i, ack, err)
		}
	}
	if n, bytes := p.InFlight(); n != 0 || bytes != 0 {
		t.Errorf("%d messages, %d bytes are on their way after Flush", n, bytes)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := p.Publish(t.Context(), nats.NewMsg(name+".x")); !errors.Is(err, client.ErrClosed) {
		t.Errorf("Publish after Close: %v", err)
	}
}

// A stream that never answers stands for a broker that holds its producers.
func TestAFullWindowBlocks(t *testing.T) {
	for name, config := range map[string]client.ProducerConfig{
		"messages": {MaxMessages: 2, AckWait: time.Hour},
		"bytes":    {MaxBytes: int64(2 * len("slow.x"+"1234")), AckWait: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			nc := connect(t)
			asked := make(chan *nats.Msg, 10)
			if _, err := nc.ChanSubscribe("slow.x", asked); err != nil {
				t.Fatal(err)
			}
			p := producer(t, nc, config)
			publish(t, p, "slow.x", "1234")
			second := publish(t, p, "slow.x", "1234")

			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := p.Publish(ctx, &nats.Msg{Subject: "slow.x", Data: []byte("1234")})
			held := (*client.HeldError)(nil)
			if !errors.As(err, &held) || !errors.Is(err, context.DeadlineExceeded) || held.Messages != 2 ||
				!strings.Contains(held.By, nc.ConnectedUrl()) {
				t.Fatalf("Publish in a full window: %v", err)
			}

			done := make(chan error, 1)
			go func() {
				_, err := p.Publish(t.Context(), &nats.Msg{Subject: "slow.x", Data: []byte("1234")})
				done <- err
			}()
			first := <-asked
			if err := first.Respond([]byte(`{"stream":"slow","seq":1}`)); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Errorf("Publish after room was made: %v", err)
			}
			select {
			case <-second.Done():
				t.Error("the second message was answered")
			default:
			}
		})
	}
}

func TestTheBrokersPressureIsToldAndWaitedFor(t *testing.T) {
	nc := connect(t)
	asked := make(chan *nats.Msg, 100)
	if _, err := nc.ChanSubscribe("pressed", asked); err != nil {
		t.Fatal(err)
	}
	p := producer(t, nc, client.ProducerConfig{MaxMessages: 1, AckWait: 100 * time.Millisecond})
	f := publish(t, p, "pressed", "1")
	refuse := []byte(`{"stream":"s","seq":0,"error":{"code":429,"err_code":10167,"description":"group billing is too far back"}}`)
	for range 3 { // it comes again by itself
		if err := (<-asked).Respond(refuse); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	// The answer is with the producer when it asks once more.
	last := <-asked
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := p.Publish(ctx, nats.NewMsg("pressed"))
	if err == nil || !strings.Contains(err.Error(), "group billing is too far back") {
		t.Errorf("Publish under pressure: %v", err)
	}
	if err := last.Respond([]byte(`{"stream":"s","seq":7}`)); err != nil {
		t.Fatal(err)
	}
	if ack, err := f.Wait(within(t, 10*time.Second)); err != nil || ack.Sequence != 7 {
		t.Errorf("after the pressure: %+v, %v", ack, err)
	}
}

func TestRefusals(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	p := producer(t, nc, client.ProducerConfig{})

	m := nats.NewMsg(name + ".x")
	m.Header.Set(jetstream.ExpectedLastSeqHeader, "9")
	f, err := p.Publish(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	refused := (*client.RefusedError)(nil)
	if _, err := f.Wait(within(t, 10*time.Second)); !errors.As(err, &refused) || refused.Code != 10071 || refused.Subject != m.Subject {
		t.Errorf("a wrong expected sequence: %v", err)
	}
	if _, err := publish(t, p, "nobody.listens", "").Wait(within(t, 10*time.Second)); !errors.Is(err, client.ErrNoStream) {
		t.Errorf("no stream: %v", err)
	}
	large := &nats.Msg{Subject: m.Subject, Data: make([]byte, nc.MaxPayload()+1)}
	if _, err := p.Publish(t.Context(), large); !errors.As(err, &refused) || refused.Code != 0 {
		t.Errorf("too large: %v", err)
	}
	if err := p.Flush(t.Context()); !errors.As(err, &refused) || refused.Code != 10071 {
		t.Errorf("Flush tells the first failure, got: %v", err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Errorf("Flush tells it once, got: %v", err)
	}
}

func TestAMessageIsStoredOnceHoweverOftenItIsSent(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	p := producer(t, nc, client.ProducerConfig{})
	for i := range 2 {
		m := nats.NewMsg(name + ".x")
		m.Header.Set(nats.MsgIdHdr, "4711")
		f, err := p.Publish(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if ack, err := f.Wait(within(t, 10*time.Second)); err != nil || ack.Sequence != 1 || ack.Duplicate != (i == 1) {
			t.Errorf("publication %d: %+v, %v", i, ack, err)
		}
	}
}

func TestWhatIsNeverAnsweredIsGivenUp(t *testing.T) {
	nc := connect(t)
	if _, err := nc.Subscribe("silent", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	p := producer(t, nc, client.ProducerConfig{AckWait: 20 * time.Millisecond, GiveUp: 100 * time.Millisecond})
	if _, err := publish(t, p, "silent", "").Wait(within(t, 10*time.Second)); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	late := publish(t, p, "silent", "")
	nc.Close()
	if _, err := late.Wait(within(t, 10*time.Second)); !errors.Is(err, client.ErrUnknown) {
		t.Errorf("after the connection was closed: %v", err)
	}
	if _, err := p.Publish(t.Context(), nats.NewMsg("silent")); !errors.Is(err, client.ErrClosed) {
		t.Errorf("Publish on a closed connection: %v", err)
	}
}
