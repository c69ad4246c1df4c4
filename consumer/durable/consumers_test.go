package durable

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brokerd/topic/stream"
)

func TestPullAndAcknowledge(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.publish(s, "s.a", "s.b", "s.a")
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	if i := c.Info(); i.NumPending != 3 || i.Name != "c" || i.Stream != "S" || i.Config.Name != "c" {
		t.Fatalf("info is %+v", i)
	}
	w.outlet.listen("in", true)
	c.Pull("in", []byte(`{"batch":2}`))
	w.until(func() bool { return c.Info().Delivered.Stream == 2 }, func() string { return fmt.Sprintf("%+v", c.Info()) })
	replies := w.outlet.replies("in")
	if len(replies) != 2 || len(strings.Split(replies[0], ".")) != 9 {
		t.Fatalf("replies are %q", replies)
	}
	w.acked(replies[0], "")
	w.acked(replies[0], "+ACK") // twice is once
	if i := c.Info(); i.AckFloor.Stream != 1 || i.NumAckPending != 1 || i.NumPending != 1 || i.AckFloor.Last == nil {
		t.Fatalf("info is %+v", i)
	}
	w.restart()
	c, ok := w.Get("S", "c")
	if !ok {
		t.Fatal("the consumer is gone")
	}
	if i := c.Info(); i.AckFloor != (Position{1, 1, i.AckFloor.Last}) || i.NumAckPending != 1 || i.NumPending != 1 || i.Delivered.Consumer != 2 {
		t.Fatalf("after a restart info is %+v", i)
	}
	w.acked(replies[1], "")
	c.Pull("in", []byte("1"))
	w.got("in", "s.a #3x1 left 0")
}

func TestPullsOfClientsThatLeft(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	w.outlet.listen("in", true)
	c.Pull("in", []byte(`{"batch":2,"expires":60000000000}`))
	w.until(func() bool { return c.Info().NumWaiting == 1 }, func() string { return "nobody waits" })
	w.outlet.listen("in", false)
	w.until(func() bool { return c.Info().NumWaiting == 0 }, func() string { return "the request is still there" })
	w.publish(s, "s.a")
	if i := c.Info(); i.Delivered.Consumer != 0 {
		t.Fatalf("info is %+v", i)
	}
}

// A pull of many large messages takes no more than the connection has room for, and goes on when there is room again.
func TestDeliveriesWaitForRoom(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	for range 10 {
		w.publish(s, "s.a")
	}
	w.outlet.listen("in", true)
	w.outlet.setRoom("in", 30)
	c.Pull("in", []byte(`{"batch":1000}`))
	w.got("in", "s.a #1x1 left 9", "s.a #2x1 left 8", "s.a #3x1 left 7")
	if i := c.Info(); i.NumAckPending != 3 {
		t.Fatalf("info is %+v", i)
	}
	w.outlet.setRoom("in", 1)
	w.got("in", "s.a #4x1 left 6")
}

func TestPushWithInterest(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.publish(s, "s.a", "s.b", "s.c")
	c := w.consumer(`{"deliver_subject":"d","filter_subjects":["s.a","s.c"],"headers_only":true,"idle_heartbeat":600000000,"mem_storage":true}`)
	if i := c.Info(); i.PushBound || i.NumPending != 2 || i.Config.InactiveThreshold != 5*time.Second || len(i.Name) != 8 {
		t.Fatalf("info is %+v", i)
	}
	w.outlet.listen("d", true)
	w.until(func() bool { return c.Info().Delivered.Consumer == 2 }, func() string { return fmt.Sprintf("%+v", c.Info()) })
	w.outlet.mu.Lock()
	first := w.outlet.got["d"][0]
	w.outlet.mu.Unlock()
	if string(first.Header) != "NATS/1.0\r\nNats-Msg-Size: 11\r\n\r\n" || len(first.Data) != 0 || first.Subject != "s.a" {
		t.Fatalf("delivered %+v", first)
	}
	w.outlet.take("d")
	w.got("d", "100 Idle Heartbeat")
	if i := c.Info(); !i.PushBound {
		t.Fatalf("info is %+v", i)
	}
	w.publish(s, "s.c")
	w.until(func() bool { return slices.Contains(w.outlet.take("d"), "s.c #4x1 left 0") }, func() string { return "not delivered" })
}

func TestUnusedConsumersAreDeleted(t *testing.T) {
	w := newWorld(t)
	w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.consumer(`{"name":"c","ack_policy":"explicit","inactive_threshold":50000000}`)
	w.until(func() bool { _, ok := w.Get("S", "c"); return !ok }, func() string { return "it is still there" })
	var got []string
	w.until(func() bool {
		got = append(got, w.outlet.advisories()...)
		return slices.Equal(got, []string{"ADVISORY.CONSUMER.CREATED.S.c", "ADVISORY.CONSUMER.DELETED.S.c"})
	}, func() string { return fmt.Sprintf("advisories %q", got) })
}

func TestCreateAndUpdate(t *testing.T) {
	w := newWorld(t)
	w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}, MaxConsumers: 2})
	w.stream(stream.Config{Name: "Q", Subjects: []string{"q.>"}, Retention: stream.WorkQueue})
	for _, c := range []struct {
		stream, config string
		action         Action
		code           uint16
	}{
		{"X", `{}`, "", 10059},
		{"S", `{"durable_name":"a"}`, UpdateOnly, 10149},
		{"S", `{"durable_name":"a"}`, CreateOnly, 0},
		{"S", `{"durable_name":"a"}`, CreateOnly, 0},
		{"S", `{"durable_name":"a","description":"d"}`, CreateOnly, 10148},
		{"S", `{"durable_name":"a","description":"d"}`, UpdateOnly, 0},
		{"S", `{"durable_name":"a","deliver_policy":"new"}`, CreateOrUpdate, 10012},
		{"S", `{"durable_name":"b"}`, "", 0},
		{"S", `{"durable_name":"c"}`, "", 10026},
		{"Q", `{"durable_name":"a","ack_policy":"all"}`, "", 10098},
		{"Q", `{"durable_name":"a","ack_policy":"explicit","deliver_policy":"new"}`, "", 10101},
		{"Q", `{"durable_name":"a","ack_policy":"explicit","filter_subject":"q.a.*"}`, "", 0},
		{"Q", `{"durable_name":"b","ack_policy":"explicit"}`, "", 10099},
		{"Q", `{"durable_name":"b","ack_policy":"explicit","filter_subject":"q.*.b"}`, "", 10100},
		{"Q", `{"durable_name":"b","ack_policy":"explicit","filter_subject":"q.b"}`, "", 0},
		{"Q", `{"durable_name":"b","ack_policy":"explicit","filter_subject":"q.>"}`, "", 10100},
	} {
		_, err := w.Create(c.stream, mustConfig(t, c.config), c.action)
		var known *stream.Error
		if c.code == 0 && err != nil || c.code != 0 && (!errors.As(err, &known) || known.ErrCode != c.code) {
			t.Errorf("%s %s %q: %v, want %d", c.stream, c.config, c.action, err, c.code)
		}
	}
	if err := w.Delete("S", "x"); !errors.Is(err, stream.ErrConsumerNotFound) {
		t.Error(err)
	}
	w.restart()
	if n := len(w.List("S")); n != 2 {
		t.Errorf("%d consumers after a restart", n)
	}
}

func TestConsumersGoWithTheirStream(t *testing.T) {
	w := newWorld(t)
	w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	w.outlet.listen("in", true)
	c.Pull("in", nil)
	if err := w.streams.Delete("S"); err != nil {
		t.Fatal(err)
	}
	w.got("in", "409 Consumer Deleted")
	c.Pull("in", nil)
	w.got("in", "409 Consumer Deleted")
	w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	if n := len(w.List("S")); n != 0 {
		t.Errorf("the new stream has %d consumers", n)
	}
	w.restart()
	if n := len(w.List("S")); n != 0 {
		t.Errorf("after a restart the new stream has %d consumers", n)
	}
}

func messages(t *testing.T, s *stream.Stream) uint64 {
	t.Helper()
	state, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	return state.Messages
}

func TestInterestRetention(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}, Retention: stream.Interest})
	w.publish(s, "s.a")
	if n := messages(t, s); n != 0 {
		t.Fatalf("without a consumer %d messages are stored", n)
	}
	a := w.consumer(`{"durable_name":"a","ack_policy":"explicit"}`)
	b := w.consumer(`{"durable_name":"b","ack_policy":"explicit","filter_subject":"s.b"}`)
	w.publish(s, "s.a", "s.b", "s.b")
	w.outlet.listen("in", true)
	a.Pull("in", []byte("2"))
	w.until(func() bool { return a.Info().NumAckPending == 2 }, func() string { return "not delivered" })
	for _, r := range w.outlet.replies("in") {
		w.acked(r, "")
	}
	if n := messages(t, s); n != 2 {
		t.Fatalf("%d messages are left, want s.b and s.b", n)
	}
	b.Pull("in", []byte("1"))
	w.until(func() bool { return b.Info().NumAckPending == 1 }, func() string { return "not delivered" })
	w.acked(w.outlet.replies("in")[0], "")
	if n := messages(t, s); n != 1 {
		t.Fatalf("%d messages are left, want one", n)
	}
	if err := w.Delete("S", "b"); err != nil {
		t.Fatal(err)
	}
	if n := messages(t, s); n != 1 {
		t.Fatalf("%d messages are left: the other consumer still needs one", n)
	}
	if err := w.Delete("S", "a"); err != nil {
		t.Fatal(err)
	}
	if n := messages(t, s); n != 0 {
		t.Fatalf("without consumers %d messages are left", n)
	}
}

// S1: a message of a work queue that ran out of attempts stays in the stream, and a late acknowledgement removes it.
func TestWorkQueueKeepsWhatRanOutOfAttempts(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}, Retention: stream.WorkQueue})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit","ack_wait":30000000,"max_deliver":2}`)
	w.publish(s, "s.a", "s.b")
	w.outlet.listen("in", true)
	c.Pull("in", []byte("10"))
	w.got("in", "s.a #1x1 left 1", "s.b #2x1 left 0", "s.a #1x2 left 0", "s.b #2x2 left 0")
	w.until(func() bool { return c.Info().NumAckPending == 0 }, func() string { return "they are still pending" })
	w.outlet.mu.Lock()
	told := len(w.outlet.published)
	w.outlet.mu.Unlock()
	if n := messages(t, s); n != 2 || told != 3 {
		t.Fatalf("%d messages, %d advisories", n, told)
	}
	w.restart()
	s, _ = w.streams.Get("S")
	if n := messages(t, s); n != 2 {
		t.Fatalf("%d messages after a restart", n)
	}
	w.acked("$JS.ACK.S.c.2.1.3.0.0", "")
	if n := messages(t, s); n != 1 {
		t.Fatalf("%d messages after a late acknowledgement", n)
	}
}

func TestShutdownTellsWhoWaits(t *testing.T) {
	w := newWorld(t)
	w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	w.outlet.listen("in", true)
	c.Pull("in", []byte(`{"batch":5,"expires":60000000000}`))
	w.stop()
	w.got("in", "409 Server Shutdown")
}

func TestLastPerSubjectOverARestart(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.publish(s, "s.a", "s.b", "s.a", "s.c", "s.b")
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit","deliver_policy":"last_per_subject","filter_subject":"s.>"}`)
	if i := c.Info(); i.NumPending != 3 {
		t.Fatalf("info is %+v", i)
	}
	w.outlet.listen("in", true)
	c.Pull("in", []byte("1"))
	w.got("in", "s.a #3x1 left 2")
	w.publish(s, "s.a")
	w.restart()
	c, _ = w.Get("S", "c")
	if i := c.Info(); i.NumPending != 3 {
		t.Fatalf("info is %+v", i)
	}
	c.Pull("in", []byte("10"))
	w.got("in", "s.c #4x1 left 2", "s.b #5x1 left 1", "s.a #6x1 left 0")
}

func TestResetAndPause(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.publish(s, "s.a", "s.b", "s.c")
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	w.outlet.listen("in", true)
	c.Pull("in", []byte("3"))
	w.got("in", "s.a #1x1 left 2", "s.b #2x1 left 1", "s.c #3x1 left 0")
	if seq, err := c.Reset(2); seq != 2 || err != nil {
		t.Fatal(seq, err)
	}
	if i := c.Info(); i.Delivered.Consumer != 0 || i.NumPending != 2 || i.NumAckPending != 0 {
		t.Fatalf("info is %+v", i)
	}
	w.restart()
	c, _ = w.Get("S", "c")
	if err := c.Pause(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if i := c.Info(); !i.Paused || i.PauseRemaining < 59*time.Minute || i.NumPending != 2 || i.Config.Metadata["_nats.req.level"] != "1" {
		t.Fatalf("info is %+v", i)
	}
	c.Pull("in", []byte("1"))
	if err := c.Pause(time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.got("in", "s.b #2x1 left 1")
}

// A crash between an acknowledgement and the removal of its message leaves nothing behind.
func TestWhatACrashLeftIsSwept(t *testing.T) {
	for _, retention := range []stream.Retention{stream.Interest, stream.WorkQueue} {
		t.Run(string(retention), func(t *testing.T) {
			w := newWorld(t)
			s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}, Retention: retention})
			c := w.consumer(`{"durable_name":"c","ack_policy":"explicit","filter_subject":"s.a"}`)
			if retention == stream.Interest {
				w.consumer(`{"durable_name":"d","ack_policy":"explicit","filter_subject":"s.b"}`)
			}
			w.publish(s, "s.a", "s.b", "s.a")
			w.outlet.listen("in", true)
			c.Pull("in", []byte("1"))
			w.until(func() bool { return c.Info().NumAckPending == 1 }, func() string { return "not delivered" })
			c.mu.Lock()
			c.machine.keep = false // the stream is not told
			c.mu.Unlock()
			w.acked(w.outlet.replies("in")[0], "")
			w.restart()
			s, _ = w.streams.Get("S")
			w.until(func() bool { return messages(t, s) == 2 }, func() string { return fmt.Sprint(messages(t, s), " messages") })
		})
	}
}
