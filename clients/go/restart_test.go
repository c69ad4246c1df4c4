package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	client "brokerd/clients/go"
	"brokerd/tests/harness"
)

// The broker is killed and started again under a producer, a member of a group and a reader: everything that was
// published is stored once, and read once or acknowledged.
func TestClientsOutliveTheBroker(t *testing.T) {
	const n = 3000
	s, err := harness.Start(harness.Options{Binary: binary, Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	nc, err := nats.Connect("nats://"+s.NATS, nats.ReconnectBufSize(-1), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	name := stream(t, nc)
	p := producer(t, nc, client.ProducerConfig{MaxMessages: 64, AckWait: time.Second})
	g := join(t, nc, client.GroupConfig{Stream: name, Group: "g", AckWait: 2 * time.Second})

	seen := make(chan map[string]int, 1)
	go func() {
		counts := map[string]int{}
		for len(counts) < n {
			m, err := g.Next(t.Context())
			if err != nil {
				t.Errorf("after %d messages: %v", len(counts), err)
				break
			}
			counts[string(m.Data)]++
			if err := m.Ack(t.Context()); err != nil {
				t.Logf("message %d is acknowledged later: %v", m.Sequence, err)
				m.Retry(0)
			}
		}
		seen <- counts
	}()
	for i := range n {
		publish(t, p, name+".x", fmt.Sprint(i))
		if i%1000 == 500 {
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if s, err = harness.Start(s.Again()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Close(within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	stored := map[string]int{}
	r, err := client.NewReader(within(t, 20*time.Second), nc, client.ReaderConfig{Stream: name})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for record, err := r.Next(within(t, 60*time.Second)); err == nil; record, err = r.Next(within(t, 60*time.Second)) {
		stored[string(record.Data)]++
	}
	if len(stored) != n {
		t.Errorf("%d of %d messages are stored", len(stored), n)
	}
	for data, times := range stored {
		if times != 1 {
			t.Errorf("message %s is stored %d times", data, times)
		}
	}
	if counts := <-seen; len(counts) != n {
		t.Errorf("the group saw %d of %d messages", len(counts), n)
	}
}
