package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"brokerd/log"
	"brokerd/topic"
)

// live is a broker whose streams run.
type live struct {
	*broker
	halt func()
}

func newLive(t testing.TB) *live {
	t.Helper()
	return newLiveIn(t, t.TempDir(), t.Cleanup)
}

func newLiveIn(t failer, dir string, cleanup func(func())) *live {
	t.Helper()
	l := &live{broker: newBrokerIn(t, dir)}
	l.run()
	cleanup(func() { l.halt(); l.stop() })
	return l
}

func (l *live) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	streams := l.Streams
	wg.Go(func() { streams.Run(ctx) })
	l.halt = func() { cancel(); wg.Wait() }
}

// restart ends the process cleanly and starts it again.
func (l *live) restart() {
	l.t.Helper()
	l.halt()
	if err := l.topics.Close(); err != nil {
		l.t.Fatal(err)
	}
	l.stop()
	l.start()
	l.run()
}

// powerFailure ends it without warning: what was not synced may be lost.
func (l *live) powerFailure(rng *rand.Rand) {
	l.t.Helper()
	l.disk = l.disk.Crash(rng)
	l.halt()
	l.stop()
	l.start()
	l.run()
}

func (l *live) stream(name string) *Stream {
	l.t.Helper()
	s, ok := l.Get(name)
	if !ok {
		l.t.Fatalf("there is no stream %s", name)
	}
	return s
}

// answer is what a publication was told.
type answer struct {
	Receipt
	err error
}

// send publishes, and returns where the answer comes.
func send(s *Stream, subject, data string, header ...string) chan answer {
	got := make(chan answer, 1)
	s.Publish(Publication{Subject: subject, Header: block(header...), Data: []byte(data), Done: func(r Receipt, err error) {
		got <- answer{r, err}
	}})
	return got
}

// block is a header block of names and values.
func block(header ...string) []byte {
	if len(header) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(headerOpening)
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", header[i], header[i+1])
	}
	return []byte(b.String() + "\r\n")
}

func (l *live) await(c chan answer) answer {
	l.t.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(20 * time.Second):
		l.t.Fatal("a publication was never answered")
		return answer{}
	}
}

// publish publishes and wants a sequence.
func (l *live) publish(s *Stream, subject, data string, header ...string) uint64 {
	l.t.Helper()
	a := l.await(send(s, subject, data, header...))
	if a.err != nil {
		l.t.Fatalf("publish to %s: %v", subject, a.err)
	}
	return a.Sequence
}

// held lists a stream's messages as "sequence subject data".
func (l *live) held(s *Stream) (list []string) {
	l.t.Helper()
	c := s.Cursor()
	defer c.Close()
	for next := uint64(1); ; next++ {
		n, ok := s.Next(next, nil)
		if !ok {
			return list
		}
		m, err := c.Get(n)
		if err != nil {
			l.t.Fatalf("get %d: %v", n, err)
		}
		list = append(list, fmt.Sprintf("%d %s %s", m.Sequence, m.Subject, m.Data))
		next = n
	}
}

func (l *live) state(s *Stream) State {
	l.t.Helper()
	st, err := s.State()
	if err != nil {
		l.t.Fatal(err)
	}
	return st
}

// until waits for a condition.
func (l *live) until(what string, f func() bool) {
	l.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			l.t.Fatalf("waited in vain until %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// kafka lists what readers of the log see of a stream.
func (l *live) kafka(s *Stream) (list []string) {
	l.t.Helper()
	t, n := s.Topic()
	p, err := t.Partition(n)
	if err != nil {
		l.t.Fatal(err)
	}
	return records(l.t, p)
}

func records(t failer, p *topic.Partition) (list []string) {
	b, err := p.Bounds()
	if err != nil {
		t.Fatal(err)
	}
	for offset := b.Start; offset < b.Durable; {
		r, err := p.Read(offset, 1<<20, topic.ReadCommitted)
		var trimmed *log.RangeError
		if errors.As(err, &trimmed) && offset < trimmed.Start {
			offset = trimmed.Start
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := r.ReadAll(nil)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, listed(t, data, b.Start)...)
		offset = r.Next
	}
	return list
}

func text(r log.Record) string { return fmt.Sprintf("%d %s %s", r.Offset+1, r.Key, r.Value) }
