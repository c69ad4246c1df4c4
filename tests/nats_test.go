package tests

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brokerd/tests/harness"
)

// natsClient connects nats.go to a broker, which it finds again on the same port.
func natsClient(t *testing.T, s *harness.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://"+s.NATS, append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.Timeout(20 * time.Second),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// jetStream is nats.go's JetStream client of a broker.
func jetStream(t *testing.T, s *harness.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(natsClient(t, s, opts...), jetstream.WithDefaultTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// createStream makes a stream.
func createStream(t *testing.T, js jetstream.JetStream, c jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	stream, err := js.CreateStream(limited(t, 30*time.Second), c)
	if err != nil {
		t.Fatalf("create stream %s: %v", c.Name, err)
	}
	return stream
}

// messages reads a stream from its start to its present end.
func messages(t *testing.T, js jetstream.JetStream, stream string) []jetstream.Msg {
	t.Helper()
	ctx := limited(t, 60*time.Second)
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatalf("read stream %s: %v", stream, err)
	}
	left := consumer.CachedInfo().NumPending
	if left == 0 {
		return nil
	}
	iterator, err := consumer.Messages()
	if err != nil {
		t.Fatalf("read stream %s: %v", stream, err)
	}
	defer iterator.Stop()
	all := make([]jetstream.Msg, 0, left)
	for left > 0 {
		m, err := iterator.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatalf("read stream %s, %d messages to go: %v", stream, left, err)
		}
		all = append(all, m)
		left = metadata(t, m).NumPending
	}
	return all
}

func metadata(t *testing.T, m jetstream.Msg) *jetstream.MsgMetadata {
	t.Helper()
	about, err := m.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	return about
}
