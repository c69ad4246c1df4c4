package tests

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// C34: at the limits of a stream, the acknowledged messages are the stored ones, and a refusal says why.
func TestC34AcknowledgedIsStoredAtALimit(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	for _, c := range []struct {
		name   string
		config jetstream.StreamConfig
	}{
		{"messages first", jetstream.StreamConfig{MaxMsgs: 100, MaxBytes: 1 << 20}},
		{"bytes first", jetstream.StreamConfig{MaxMsgs: 1000, MaxBytes: 20_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := limited(t, 90*time.Second)
			c.config.Name = fmt.Sprintf("S%d", len(c.name))
			c.config.Subjects = []string{c.config.Name}
			c.config.Retention, c.config.Discard = jetstream.WorkQueuePolicy, jetstream.DiscardNew
			stream := createStream(t, js, c.config)
			consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy})
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 { // the second one after it was drained
				acked := overfill(t, js, c.config.Name)
				info, err := stream.Info(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if acked == 0 || acked == 1000 || info.State.Msgs != uint64(acked) {
					t.Errorf("round %d: %d messages were acknowledged, %d are stored", round, acked, info.State.Msgs)
				}
				if info.State.Bytes > uint64(c.config.MaxBytes) || info.State.Msgs > uint64(c.config.MaxMsgs) {
					t.Errorf("round %d: the stream holds %d messages, %d bytes", round, info.State.Msgs, info.State.Bytes)
				}
				drain(t, consumer, acked)
				if info, err = stream.Info(ctx); err != nil || info.State.Msgs != 0 {
					t.Errorf("round %d: %d messages are left: %v", round, info.State.Msgs, err)
				}
			}
		})
	}
}

// overfill publishes 1000 messages, and returns the number of acknowledgements.
func overfill(t *testing.T, js jetstream.JetStream, subject string) (acked int) {
	t.Helper()
	var sent []jetstream.PubAckFuture
	for i := range 1000 {
		f, err := js.PublishAsync(subject, bytes.Repeat([]byte{byte(i)}, 100))
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, f)
	}
	ctx := limited(t, 60*time.Second)
	for i, f := range sent {
		select {
		case <-f.Ok():
			acked++
		case err := <-f.Err():
			if api := (*jetstream.APIError)(nil); !errors.As(err, &api) || api.ErrorCode != 10077 {
				t.Fatalf("message %d: %v", i, err)
			}
		case <-ctx.Done():
			t.Fatalf("message %d of %d was not answered", i, len(sent))
		}
	}
	return acked
}

func drain(t *testing.T, consumer jetstream.Consumer, n int) {
	t.Helper()
	batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for m := range batch.Messages() {
		if err := m.DoubleAck(limited(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
		got++
	}
	if got != n {
		t.Errorf("%d of %d messages could be consumed", got, n)
	}
}

// C34: with two limits of which one is reached, old messages go at once, and publishing does not pause.
func TestC34OldOnesGoAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	ctx := limited(t, 90*time.Second)
	stream := createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 10, MaxBytes: 1 << 20})
	for i := range 200 {
		ack, err := js.Publish(ctx, "s", fmt.Append(nil, i))
		if err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if state := info.State; state.LastSeq != ack.Sequence || state.Msgs != min(uint64(i)+1, 10) || state.FirstSeq != state.LastSeq+1-state.Msgs {
			t.Fatalf("after message %d: %+v", ack.Sequence, state)
		}
	}
}
