package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

// connect makes a connection that ends with the test.
func connect(t *testing.T, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// within is a context that ends before the test runs out of patience.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// stream makes a stream of the test's name, with the subjects NAME.>.
func stream(t *testing.T, nc *nats.Conn, change ...func(*jetstream.StreamConfig)) string {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	config := jetstream.StreamConfig{Name: t.Name(), Subjects: []string{t.Name() + ".>"}}
	for _, f := range change {
		f(&config)
	}
	if _, err := js.CreateStream(within(t, 10*time.Second), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { js.DeleteStream(context.Background(), config.Name) })
	return config.Name
}

func producer(t *testing.T, nc *nats.Conn, config client.ProducerConfig) *client.Producer {
	t.Helper()
	p, err := client.NewProducer(nc, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		p.Close(ctx)
	})
	return p
}

// fill publishes messages 0 to n-1 to NAME.even and NAME.odd.
func fill(t *testing.T, nc *nats.Conn, name string, n int) {
	t.Helper()
	p := producer(t, nc, client.ProducerConfig{})
	for i := range n {
		subject := name + ".even"
		if i%2 == 1 {
			subject = name + ".odd"
		}
		publish(t, p, subject, fmt.Sprint(i))
	}
	if err := p.Flush(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, p *client.Producer, subject, data string) *client.Pending {
	t.Helper()
	f, err := p.Publish(within(t, 20*time.Second), &nats.Msg{Subject: subject, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
