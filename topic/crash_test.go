package topic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// client is an idempotent producer as the Kafka clients have it: up to five batches in flight, and after a lost
// connection it sends again, in order, everything that was not acknowledged.
type client struct {
	id     int64
	next   int32   // sequence of the next new batch
	flying []int32 // sequences of batches that are not acknowledged
}

// TestNothingIsLostOrDoubledByCrashes has two clients write through kills and power failures, with segments so small that
// snapshots are taken all the time. In the end every record is there once, and in the order of its producer; and no
// acknowledged batch ever changed its offset.
func TestNothingIsLostOrDoubledByCrashes(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t)
			w.create("a", 1)
			clients := []*client{{id: 1}, {id: 2}}
			acked := make(map[string]int64) // "CLIENT SEQUENCE" to offset
			for range 80 {
				c := clients[rng.IntN(2)]
				switch rng.IntN(12) {
				case 0:
					w.kill()
					w.open()
					resend(w, clients, acked)
				case 1:
					w.crash(rng)
					w.open()
					resend(w, clients, acked)
				case 2:
					w.restart()
					resend(w, clients, acked)
				case 3, 4, 5:
					c.ack(w, acked)
				default:
					if len(c.flying) < 5 {
						c.flying = append(c.flying, c.next)
						c.send(w, c.next, acked)
						c.next++
					}
				}
			}
			for _, c := range clients {
				c.ack(w, acked)
			}
			checkHistory(t, w, clients, acked)
		})
	}
}

// send appends the client's batch with this sequence. A batch that was acknowledged must keep its offset.
func (c *client) send(w *world, sequence int32, acked map[string]int64) {
	w.t.Helper()
	p := w.partition("a", 0)
	small := w.partition("a", 0).Topic().Config().Log
	small.SegmentBytes = 400
	p.log.SetConfig(small)
	name := fmt.Sprint(c.id, " ", sequence)
	at, err := p.Append(sequenced(w.t, c.id, 0, sequence, name))
	if err != nil {
		w.t.Fatalf("batch %s: %v", name, err)
	}
	if was, ok := acked[name]; ok && was != at.Base {
		w.t.Fatalf("batch %s was acknowledged at %d, and is now at %d", name, was, at.Base)
	}
}

// ack waits until everything in flight is durable. Sending it again gives the offsets.
func (c *client) ack(w *world, acked map[string]int64) {
	w.t.Helper()
	p := w.partition("a", 0)
	for _, sequence := range c.flying {
		name := fmt.Sprint(c.id, " ", sequence)
		at, err := p.Append(sequenced(w.t, c.id, 0, sequence, name))
		if err != nil || !at.Duplicate {
			w.t.Fatalf("batch %s sent again: %+v, %v", name, at, err)
		}
		if err := p.WaitDurable(context.Background(), at.Last); err != nil {
			w.t.Fatal(err)
		}
		acked[name] = at.Base
	}
	c.flying = nil
}

// resend is what clients do after the broker came back: all that is in flight, and the last acknowledged batch too, as
// if its answer had been lost.
func resend(w *world, clients []*client, acked map[string]int64) {
	w.t.Helper()
	for _, c := range clients {
		first := c.next
		if len(c.flying) > 0 {
			first = c.flying[0]
		}
		if first > 0 && len(c.flying) < 5 {
			c.send(w, first-1, acked)
		}
		for _, sequence := range c.flying {
			c.send(w, sequence, acked)
		}
	}
}

// checkHistory compares the log with what the clients know.
func checkHistory(t *testing.T, w *world, clients []*client, acked map[string]int64) {
	t.Helper()
	expect := map[int64]int32{1: 0, 2: 0}
	b, err := w.partition("a", 0).Bounds() // it starts above 0 when a crash took its first, unacknowledged batches
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range w.records(w.partition("a", 0), b.Start) {
		offset, name, _ := strings.Cut(line, " ")
		id, sequence, _ := strings.Cut(name, " ")
		client, _ := strconv.ParseInt(id, 10, 64)
		if sequence != fmt.Sprint(expect[client]) {
			t.Fatalf("offset %s holds batch %s, want %d", offset, name, expect[client])
		}
		if offset != fmt.Sprint(acked[name]) {
			t.Errorf("batch %s is at %s, acknowledged at %d", name, offset, acked[name])
		}
		expect[client]++
	}
	for _, c := range clients {
		if expect[c.id] != c.next {
			t.Errorf("client %d: %d batches of %d", c.id, expect[c.id], c.next)
		}
	}
}
