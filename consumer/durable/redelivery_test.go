package durable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"brokerd/topic/stream"
)

// C37: counts follow the clock, redelivery is in stream order with a rising count, late and double acknowledgements follow
// one rule, and delays survive a restart.
func TestRedeliveryLateAcksAndOrder(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	for range 5 {
		w.publish(s, "s.a")
	}
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit","ack_wait":200000000,"max_ack_pending":5}`)
	w.outlet.listen("first", true)
	c.Pull("first", []byte("5"))
	w.until(func() bool { return c.Info().NumAckPending == 5 }, func() string { return "not delivered" })
	first := w.outlet.replies("first")
	w.outlet.listen("first", false)

	// With nobody asking, the time of each runs out all the same.
	w.until(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.machine.pending.again.Len() == 5
	}, func() string { return "their time has not run out" })
	w.outlet.listen("second", true)
	c.Pull("second", []byte("5"))
	w.until(func() bool { return c.Info().NumRedelivered == 5 }, func() string { return "not delivered again" })
	second := w.outlet.replies("second")
	for i, reply := range second {
		if a, err := parseAck(reply, nil); err != nil || a.place.stream != uint64(i+1) || a.deliveries != 2 {
			t.Fatalf("delivered again: %s, %v", reply, err)
		}
	}

	// The first client's acknowledgements come late, and twice: each is the end of its message, and of no other.
	for _, reply := range first[:3] {
		w.acked(reply, "")
		w.acked(reply, "")
	}
	w.acked(first[3], "-NAK") // the message is the second client's now
	if i := c.Info(); i.AckFloor.Stream != 3 || i.NumAckPending != 2 {
		t.Fatalf("info is %+v", i)
	}
	w.acked(second[3], "-NAK 1h")
	w.acked(second[4], "")
	w.kill()
	c, _ = w.Get("S", "c")
	c.mu.Lock()
	e := c.machine.pending.first()
	due, floor := e.due, c.machine.floor
	c.mu.Unlock()
	if left := time.Until(due); e.stream != 4 || floor.stream != 3 || left < 59*time.Minute || left > time.Hour {
		t.Fatalf("after a restart #%d is due in %v, the floor is %v", e.stream, left, floor)
	}
	c.Pull("second", []byte(`{"batch":5,"no_wait":true}`))
	w.got("second", "404 No Messages")
}

// However often the broker dies: what was acknowledged and saved never comes again, and everything else does.
func TestNothingIsSkippedOverKills(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.consumer(`{"durable_name":"c","ack_policy":"explicit","ack_wait":5000000,"max_ack_pending":20}`)
	w.outlet.listen("in", true)
	const total = 120
	for range total {
		w.publish(s, "s.a")
	}
	random := rand.New(rand.NewPCG(1, 2))
	done := map[uint64]bool{}
	deadline := time.Now().Add(30 * time.Second)
	for lives := 0; len(done) < total && time.Now().Before(deadline); lives++ {
		c, ok := w.Get("S", "c")
		if !ok {
			t.Fatal("the consumer is gone")
		}
		for range 3 {
			c.Pull("in", []byte(`{"batch":10,"expires":20000000}`))
			var replies []string
			w.until(func() bool {
				replies = append(replies, w.outlet.replies("in")...)
				return len(replies) > 0 || c.Info().NumWaiting == 0
			}, func() string { return "neither messages nor an end" })
			for _, reply := range replies {
				a, err := parseAck(reply, nil)
				if err != nil || done[a.place.stream] {
					continue // it was sent before it was acknowledged
				}
				switch random.IntN(3) {
				case 0: // forgotten
				case 1:
					_ = w.tryAck(reply, "-NAK")
				default:
					if w.tryAck(reply, "") != nil {
						continue // the delivery was not saved before a kill: it comes again
					}
					done[a.place.stream] = true
					w.outlet.finish(a.place.stream)
				}
			}
		}
		if lives%4 == 3 {
			w.kill()
		}
	}
	if len(w.outlet.wrong) > 0 {
		t.Fatalf("sent after they were acknowledged: %q", w.outlet.wrong)
	}
	if len(done) < total {
		t.Fatalf("%d of %d messages came to an end", len(done), total)
	}
	c, _ := w.Get("S", "c")
	w.until(func() bool { return c.Info().AckFloor.Stream == total }, func() string { return fmt.Sprintf("%+v", c.Info()) })
}

func TestMaxDeliveriesAndTermination(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit","backoff":[10000000,20000000],"max_deliver":3,"sample_freq":"100"}`)
	w.outlet.advisories()
	w.publish(s, "s.a", "s.b", "s.c")
	w.outlet.listen("in", true)
	c.Pull("in", []byte("3"))
	w.until(func() bool { return c.Info().Delivered.Stream == 3 }, func() string { return "not delivered" })
	replies := w.outlet.replies("in")
	w.acked(replies[1], "+TERM no use")
	w.acked(replies[2], "")
	c.Pull("in", []byte("5"))
	want := []string{"ADVISORY.CONSUMER.MSG_TERMINATED.S.c", "METRIC.CONSUMER.ACK.S.c", "ADVISORY.CONSUMER.MAX_DELIVERIES.S.c"}
	var got []string
	w.until(func() bool { got = append(got, w.outlet.advisories()...); return len(got) >= 3 }, func() string { return fmt.Sprint(got) })
	if !slices.Equal(got, want) {
		t.Errorf("advisories %q", got)
	}
	if lines := w.outlet.take("in"); !slices.Equal(lines, []string{"s.a #1x2 left 0", "s.a #1x3 left 0"}) {
		t.Errorf("got %q", lines)
	}
}
