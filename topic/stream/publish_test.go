package stream

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brokerd/log"
	"brokerd/log/vfs/memfs"
	"brokerd/topic"
)

// What is acknowledged is there after a power failure, in order, and no sequence is given out twice.
func TestAcknowledgedSurvivesPowerFailures(t *testing.T) {
	b := newLive(t)
	b.create(Config{Name: "S", Subjects: []string{"s"}})
	acked := make(map[uint64]string)
	var top uint64
	for life := range 8 {
		s := b.stream("S")
		var waits []chan answer
		for i := range 200 {
			waits = append(waits, send(s, "s", fmt.Sprint(life, ".", i)))
			if i == 100 {
				waits[0] <- b.await(waits[0])
			}
		}
		b.powerFailure(rand.New(rand.NewPCG(uint64(life), 7)))
		for i, c := range waits {
			a := b.await(c)
			if a.err != nil {
				continue
			}
			if a.Sequence <= top {
				t.Fatalf("sequence %d after %d", a.Sequence, top)
			}
			top = a.Sequence
			acked[a.Sequence] = fmt.Sprint(life, ".", i)
		}
		s = b.stream("S")
		for sequence, data := range acked {
			if m, err := s.Get(sequence); err != nil || string(m.Data) != data {
				t.Fatalf("acknowledged %d is %q, %v, want %s", sequence, m.Data, err, data)
			}
		}
		top = b.state(s).Last
	}
}

// After a purge of everything, and a crash, sequences go on.
func TestSequencesGoOnAfterPurge(t *testing.T) {
	b := newLive(t)
	b.create(Config{Name: "S", Subjects: []string{"s"}})
	for i := range 5 {
		s := b.stream("S")
		if n := b.publish(s, "s", "x"); n != uint64(i)+1 {
			t.Fatalf("sequence %d, want %d", n, i+1)
		}
		if n, err := s.Purge(Purge{}); n != 1 || err != nil {
			t.Fatalf("purged %d, %v", n, err)
		}
		if st := b.state(s); st.First != uint64(i)+2 || st.Last != uint64(i)+1 || st.Messages != 0 {
			t.Errorf("state %+v", st)
		}
		b.powerFailure(rand.New(rand.NewPCG(uint64(i), 3)))
		if st := b.state(b.stream("S")); st.First != uint64(i)+2 || st.Last != uint64(i)+1 {
			t.Errorf("after a crash: state %+v", st)
		}
	}
}

// Answers come in the order of the sequences, duplicates wait for their original, and messages collect while a commit is
// under way.
func TestAnswersComeInOrder(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s"}})
	var last atomic.Uint64
	const n = 5000
	done := make(chan error, n)
	for i := range n {
		p := Publication{Subject: "s", Data: []byte("x"), Header: block(headerID, strconv.Itoa(i/2))}
		p.Done = func(r Receipt, err error) {
			if err == nil && r.Duplicate != (r.Sequence == last.Load()) {
				err = fmt.Errorf("sequence %d (duplicate: %v) after %d", r.Sequence, r.Duplicate, last.Load())
			}
			last.Store(r.Sequence)
			done <- err
		}
		s.Publish(p)
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if st := b.state(s); st.Messages != n/2 {
		t.Errorf("state %+v", st)
	}
}

// Times of messages do not fall, and are whole milliseconds.
func TestTimesNeverFall(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s"}})
	for i := range 3 {
		b.publish(s, "s", strconv.Itoa(i))
	}
	future := time.Now().Add(time.Hour).UnixMilli()
	err := s.with(func(_ topic.Tail, c *contents) error {
		c.clock = future // as if the clock had been set back since
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.publish(s, "s", "4")
	if m, err := s.Get(4); err != nil || m.Time.UnixMilli() != future {
		t.Errorf("the time is %v, %v", m.Time, err)
	}
	if n, err := s.AtTime(time.UnixMilli(future)); n != 4 || err != nil {
		t.Errorf("at that time: %d, %v", n, err)
	}
	if n, err := s.AtTime(time.UnixMilli(future).Add(1)); n != 5 || err != nil {
		t.Errorf("after it: %d, %v", n, err)
	}
	if n, err := s.AtTime(time.Time{}); n != 1 || err != nil {
		t.Errorf("at the beginning of time: %d, %v", n, err)
	}
}

func TestInterestRetentionStoresWhatIsWanted(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, Retention: Interest})
	if n := b.publish(s, "s.a", "1", headerID, "x"); n != 1 {
		t.Errorf("sequence %d", n)
	}
	s.SetInterest(func(subject string) bool { return subject == "s.b" })
	b.publish(s, "s.a", "2")
	b.publish(s, "s.b", "3")
	if a := b.await(send(s, "s.a", "", headerID, "x")); !a.Duplicate {
		t.Errorf("an id of what was not stored: %+v", a)
	}
	if got := b.held(s); !slices.Equal(got, []string{"3 s.b 3"}) {
		t.Errorf("holds %q", got)
	}
	s.Acknowledged(3, 7)
	if st := b.state(s); st.Messages != 0 || st.First != 4 || st.Last != 3 {
		t.Errorf("state %+v", st)
	}
	b.until("the log is empty", func() bool { return len(b.kafka(s)) == 0 })
}

// A topic made through Kafka is a stream: what its producers write is there under the topic's subject.
func TestTopicMadeThroughKafka(t *testing.T) {
	b := newLive(t)
	b.topic("orders", 1)
	top, _ := b.topics.Get("orders")
	p := top.Partitions()[0]
	append := func(keys ...string) {
		t.Helper()
		builder := log.Builder{Codec: log.Gzip}
		for _, key := range keys {
			builder.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(key), Value: []byte(key)})
		}
		batch, err := builder.Build()
		if err != nil {
			t.Fatal(err)
		}
		at, err := p.Append(batch)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitDurable(t.Context(), at.Last); err != nil {
			t.Fatal(err)
		}
	}
	append("eu", "us")
	s := b.stream("orders")
	watch := make(chan struct{}, 1)
	defer s.Watch(watch)()
	if got := b.held(s); !slices.Equal(got, []string{"1 orders.eu eu", "2 orders.us us"}) {
		t.Errorf("holds %q", got)
	}
	append("eu")
	<-watch
	if n := b.publish(s, "orders.as", "as"); n != 4 {
		t.Errorf("sequence %d", n)
	}
	if got := b.held(s)[2:]; !slices.Equal(got, []string{"3 orders.eu eu", "4 orders.as as"}) {
		t.Errorf("holds %q", got)
	}
	if got := b.kafka(s); !slices.Equal(got, []string{"1 eu eu", "2 us us", "3 eu eu", "4 as as"}) {
		t.Errorf("Kafka clients read %q", got)
	}
	if err := s.Delete(2, true); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(Purge{Filter: "orders.eu"}); n != 2 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if got := b.kafka(s); !slices.Equal(got, []string{"4 as as"}) {
		t.Errorf("Kafka clients read %q", got)
	}
}

func TestDeletedStreamAnswers(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s"}})
	b.publish(s, "s", "1")
	watch := make(chan struct{}, 1)
	defer s.Watch(watch)()
	var waits []chan answer
	for range 100 {
		waits = append(waits, send(s, "s", "x"))
	}
	if err := b.Delete("S"); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		waits = append(waits, send(s, "s", "x"))
	}
	for _, c := range waits {
		b.await(c)
	}
	b.until("the deletion is told", func() bool { return len(watch) > 0 && s.Gone() })
	if _, err := s.State(); err != ErrStreamNotFound {
		t.Errorf("state: %v", err)
	}
	if a := b.await(send(s, "s", "x")); a.err != ErrStreamNotFound {
		t.Errorf("publish: %v", a.err)
	}
}

// A log that fails for good is answered for, not passed over in silence, and what it holds can still be read.
func TestFailedLogAnswers(t *testing.T) {
	for _, kind := range []memfs.Kind{memfs.Write, memfs.Sync} {
		b := newLive(t)
		s := b.create(Config{Name: "S", Subjects: []string{"s"}})
		b.publish(s, "s", "1", headerID, "x")
		b.disk.Fail(func(op memfs.Op) error {
			if op.Kind == kind && strings.HasSuffix(op.Name, ".log") {
				return io.ErrShortWrite
			}
			return nil
		})
		for i := range 3 {
			a := b.await(send(s, "s", "2", headerID, "y"+strconv.Itoa(i)))
			if e, ok := a.err.(*Error); !ok || e.ErrCode != 10077 {
				t.Errorf("got %+v", a)
			}
		}
		if st := b.state(s); st.Messages != 1 || st.Last != 1 {
			t.Errorf("state %+v", st)
		}
		if m, err := s.Get(1); err != nil || string(m.Data) != "1" {
			t.Errorf("get: %q, %v", m.Data, err)
		}
		b.disk.Fail(nil)
	}
}

// Batches of Kafka producers are held to what the stream's configuration says.
func TestKafkaProducersAreHeldToTheConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config func(c *Config)
		want   error
	}{
		"sealed":   {func(c *Config) { c.Sealed = true }, ErrSealed},
		"counters": {func(c *Config) { c.AllowCounter = true }, ErrCounterIncrementMissing},
		"large":    {func(c *Config) { c.MaxMsgSize = 2 }, ErrMessageTooLarge},
		"full":     {func(c *Config) { c.Discard, c.MaxMsgs = DiscardNew, 1 }, errMaxMessages},
		"bytes":    {func(c *Config) { c.Discard, c.MaxBytes = DiscardNew, 80 }, errMaxBytes},
		"mirror":   {func(c *Config) { c.Mirror = &Source{Name: "X"} }, errMirrored},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLive(t)
			s := b.create(Config{Name: "S", Subjects: []string{"s"}})
			b.publish(s, "s", "1")
			conf := s.Config()
			c.config(&conf)
			s.configure(conf)
			builder := log.Builder{}
			builder.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte("s"), Value: []byte("abc")})
			batch, err := builder.Build()
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.part.Append(batch)
			if !errors.Is(err, topic.ErrRefused) || !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// An id is a duplicate for the length of the window, over a restart too.
func TestDuplicateWindow(t *testing.T) {
	b := newLive(t)
	const window = 500 * time.Millisecond
	b.create(Config{Name: "S", Subjects: []string{"s"}, Duplicates: window})
	sent := time.Now()
	b.publish(b.stream("S"), "s", "1", headerID, "x")
	b.restart()
	s := b.stream("S")
	if a := b.await(send(s, "s", "2", headerID, "x")); !a.Duplicate && time.Since(sent) < window {
		t.Errorf("inside the window: %+v", a)
	}
	b.until("the window is over", func() bool { return time.Since(sent) > window+50*time.Millisecond })
	if a := b.await(send(s, "s", "3", headerID, "x")); a.Duplicate {
		t.Errorf("after the window: %+v", a)
	}
}

func TestIdsFitIntoTheirMemory(t *testing.T) {
	var d ids
	long := strings.Repeat("x", 1<<20)
	for i := range 200 {
		d.add(long+strconv.Itoa(i), uint64(i)+1, int64(i))
	}
	if d.bytes > idMemory || len(d.order) != len(d.sequences) || len(d.order) < 50 {
		t.Errorf("%d bytes, %d ids", d.bytes, len(d.order))
	}
	if _, ok := d.find(long+"199", 0, time.Hour); !ok {
		t.Error("the newest id is forgotten")
	}
}

// What compaction takes away is gone for readers of messages.
func TestCompactedRecordsLeaveTheIndex(t *testing.T) {
	b := newLive(t)
	b.topic("t", 1, "cleanup.policy", "compact")
	s := b.stream("t")
	for _, data := range []string{"1", "2", "3"} {
		b.publish(s, "t.k", data)
	}
	err := s.part.Exclusive(func(topic.Tail) error {
		s.follower.Removed(0)
		s.follower.Removed(1)
		s.follower.Removed(1)
		return nil
	})
	if got := b.held(s); err != nil || !slices.Equal(got, []string{"3 t.k 3"}) {
		t.Errorf("holds %q, %v", got, err)
	}
}

// A publication's subject stands for itself, even with wildcards in it, as with nats-server; a rollup takes them for what they
// are.
func TestSubjectWithWildcards(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.>"}, AllowRollup: true})
	b.publish(s, "s.a.1", "1")
	b.publish(s, "s.*.1", "2")
	b.publish(s, "s.a.2", "3")
	if got := b.held(s); !slices.Equal(got, []string{"1 s.a.1 1", "2 s.*.1 2", "3 s.a.2 3"}) {
		t.Errorf("held %q", got)
	}
	b.publish(s, "s.*.1", "4", headerRollup, "sub")
	for range 2 {
		if got := b.held(s); !slices.Equal(got, []string{"3 s.a.2 3", "4 s.*.1 4"}) {
			t.Errorf("after the rollup: %q", got)
		}
		b.restart()
		s = b.stream("S")
	}
}
