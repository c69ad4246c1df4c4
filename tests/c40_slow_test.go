package tests

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brokerd/tests/harness"
)

// C40: a core subscriber that stops reading is closed, counted and named in the log, while a healthy one on the same
// subject gets everything, in good time.
func TestC40SubscriberThatStopsReading(t *testing.T) {
	s := start(t, options(t, "BROKERD_NATS_MAX_PENDING=4MiB", "BROKERD_NATS_MAX_PAYLOAD=1MiB"))
	slow, err := dialNATS(s)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := slow.introduce(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(slow, "SUB news 1\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.line(); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("nats://"+s.NATS, nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	healthy, err := nc.SubscribeSync("news")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64<<10)
	var slowest time.Duration
	for i := 0; metric(t, s, "brokerd_nats_slow_consumers") == 0; i++ {
		if i > 5000 {
			t.Fatal("it is still there")
		}
		began := time.Now()
		if err := nc.Publish("news", data); err != nil {
			t.Fatal(err)
		}
		if _, err := healthy.NextMsg(20 * time.Second); err != nil {
			t.Fatalf("message %d for the healthy subscriber: %v", i, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("slowest message for the healthy subscriber: %s", slowest)
	if slowest > 2*time.Second {
		t.Errorf("the healthy subscriber waited %s", slowest)
	}
	if !strings.Contains(s.Log(), "slow consumer") {
		t.Error("the log does not name it")
	}
	if err := slow.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(slow.in)
	if strings.Contains(string(rest), "-ERR") {
		t.Error("it was told an error, after which clients do not come back")
	}
}

// C40: a push consumer with a slow handler, and a publisher of 100,000 that never reads its acknowledgements. Nobody is
// closed, and nothing is lost.
func TestC40SlowHandlerAndPublisherThatNeverReads(t *testing.T) {
	const messages = 100_000
	s := start(t, options(t))
	nc, err := nats.Connect("nats://" + s.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	ctx := limited(t, 2*time.Minute)
	st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	publisher := publishUnread(t, s, messages)
	got := slowHandler(ctx, t, nc, messages)
	healthy, err := js.OrderedConsumer(ctx, "S", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	iterator, err := healthy.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer iterator.Stop()
	for i := range messages {
		m, err := iterator.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatalf("the healthy consumer, message %d: %v", i, err)
		}
		if want := fmt.Sprintf("%08d", i); string(m.Data()) != want {
			t.Fatalf("message %d is %q", i, m.Data())
		}
	}
	if info, err := st.Info(ctx); err != nil || info.State.Msgs != messages {
		t.Errorf("stored: %+v, %v", info, err)
	}
	if err := got(); err != nil {
		t.Error(err)
	}
	if err := publisher(); err != nil {
		t.Error(err)
	}
	if n := metric(t, s, "brokerd_nats_slow_consumers"); n != 0 {
		t.Errorf("%v connections were closed as slow", n)
	}
}

// publishUnread publishes and asks for acknowledgements, which nobody reads before the function it returns is called; that
// counts them.
func publishUnread(t *testing.T, s *harness.Server, n int) (count func() error) {
	t.Helper()
	r, err := dialNATS(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.introduce(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		var b strings.Builder
		b.WriteString("SUB ack 1\r\n")
		for i := range n {
			fmt.Fprintf(&b, "PUB s ack 8\r\n%08d\r\n", i)
		}
		_, err := io.WriteString(r, b.String())
		sent <- err
	}()
	return func() error {
		for acks := 0; acks < n; {
			line, err := r.line()
			if err != nil {
				return fmt.Errorf("after %d acknowledgements: %w", acks, err)
			}
			if strings.HasPrefix(line, `{"stream":"S","seq":`) {
				acks++
			}
		}
		return <-sent
	}
}

// slowHandler reads with a push consumer whose handler takes its time now and then.
func slowHandler(ctx context.Context, t *testing.T, nc *nats.Conn, n int) (wait func() error) {
	t.Helper()
	legacy, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	seen, done := 0, make(chan struct{})
	sub, err := legacy.Subscribe("s", func(*nats.Msg) {
		if seen++; seen%10_000 == 0 {
			time.Sleep(100 * time.Millisecond) // what this handler does
		}
		if seen == n {
			once.Do(func() { close(done) })
		}
	}, nats.OrderedConsumer())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() error {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the slow handler: %w", ctx.Err())
		}
	}
}
