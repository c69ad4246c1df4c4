package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

func join(t *testing.T, nc *nats.Conn, config client.GroupConfig) *client.Group {
	t.Helper()
	g, err := client.JoinGroup(within(t, 10*time.Second), nc, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func next(t *testing.T, g *client.Group, offset int64) *client.Message {
	t.Helper()
	m, err := g.Next(within(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if m.Offset() != offset || string(m.Data) != fmt.Sprint(offset) {
		t.Fatalf("got message %d with %q, want %d", m.Offset(), m.Data, offset)
	}
	return m
}

// floor is the offset below which a group has acknowledged everything.
func floor(t *testing.T, nc *nats.Conn, stream, group string) (floor uint64, held int) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.Consumer(within(t, 10*time.Second), stream, group)
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo().AckFloor.Stream, c.CachedInfo().NumAckPending
}

func TestSingleAndUpToAcks(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	fill(t, nc, name, 10)
	g := join(t, nc, client.GroupConfig{Stream: name, Group: "g"})
	var all []*client.Message
	for i := range int64(6) {
		all = append(all, next(t, g, i))
	}
	if all[5].Behind != 4 || all[5].Attempt != 1 || all[5].Subject != name+".odd" {
		t.Errorf("the sixth message: %+v", all[5])
	}
	ctx := within(t, 20*time.Second)
	if err := all[1].Ack(ctx); err != nil {
		t.Fatal(err)
	}
	if at, _ := floor(t, nc, name, "g"); at != 0 {
		t.Errorf("with the second acknowledged alone the floor is %d", at)
	}
	if err := all[3].AckUpTo(ctx); err != nil {
		t.Fatal(err)
	}
	if at, _ := floor(t, nc, name, "g"); at != 4 {
		t.Errorf("with all up to the fourth acknowledged the floor is %d", at)
	}
	if err := all[0].Ack(ctx); !errors.Is(err, client.ErrSettled) {
		t.Errorf("a second acknowledgement: %v", err)
	}
}

func TestRetryAndDiscard(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	fill(t, nc, name, 2)
	g := join(t, nc, client.GroupConfig{Stream: name, Group: "g", Attempts: 5})
	const delay = 200 * time.Millisecond
	began := time.Now()
	if err := next(t, g, 0).Retry(delay); err != nil {
		t.Fatal(err)
	}
	if err := next(t, g, 1).Discard("no good"); err != nil {
		t.Fatal(err)
	}
	m := next(t, g, 0)
	if took := time.Since(began); m.Attempt != 2 || took < delay {
		t.Errorf("attempt %d after %s", m.Attempt, took)
	}
	if err := m.Working(); err != nil {
		t.Error(err)
	}
	if err := m.Ack(within(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
	if at, held := floor(t, nc, name, "g"); at != 2 || held != 0 {
		t.Errorf("floor %d, %d held", at, held)
	}
}

// A member that drains gives back what it took in advance, and may settle what it was given.
func TestDrain(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	fill(t, nc, name, 20)
	g := join(t, nc, client.GroupConfig{Stream: name, Group: "g", AckWait: time.Hour})
	first, second := next(t, g, 0), next(t, g, 1)

	drained := make(chan error, 1)
	go func() { drained <- g.Drain(within(t, 20*time.Second)) }()
	for { // until the draining has begun
		m, err := g.Next(t.Context())
		if errors.Is(err, client.ErrClosed) {
			break
		}
		if err == nil {
			err = m.Retry(0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := second.AckUpTo(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := <-drained; err != nil {
		t.Errorf("Drain: %v", err)
	}
	_ = first

	other := join(t, nc, client.GroupConfig{Stream: name, Group: "g", AckWait: time.Hour})
	seen := map[int64]bool{}
	for len(seen) < 18 {
		m, err := other.Next(within(t, 20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset() < 2 || seen[m.Offset()] {
			t.Errorf("message %d was given out again", m.Offset())
		}
		seen[m.Offset()] = true
		if err := m.Ack(within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrainTellsWhatIsNotSettled(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	fill(t, nc, name, 1)
	g := join(t, nc, client.GroupConfig{Stream: name, Group: "g"})
	next(t, g, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := g.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAGroupBeginsWhereItIsToldAndKeepsItsPlace(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	fill(t, nc, name, 10)
	config := client.GroupConfig{Stream: name, Group: "g", Subjects: []string{name + ".odd"}, From: client.Offset(4)}
	g := join(t, nc, config)
	if err := next(t, g, 5).Ack(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := g.Drain(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	config.From = client.Offset(0) // too late
	m, err := join(t, nc, config).Next(within(t, 20*time.Second))
	if err != nil || m.Offset() <= 5 || m.Subject != name+".odd" {
		t.Errorf("the next member was given %+v, %v", m, err)
	}
}
