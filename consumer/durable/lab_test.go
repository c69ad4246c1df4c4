package durable

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testClients is what the machine sees of clients: everybody listens and has room, but for those named here.
type testClients struct {
	away map[string]bool
	full map[string]bool
}

func (c *testClients) Listening(inbox, _ string) bool { return !c.away[inbox] }

func (c *testClients) Room(inbox string) int64 {
	if c.full[inbox] {
		return 0
	}
	return 1 << 20
}

// bench is a machine with a clock that is moved by hand, clients, and a stream that is only numbers.
type bench struct {
	*machine
	now     time.Time
	clients testClients
	last    uint64          // of the stream
	first   uint64          // of the stream
	deleted map[uint64]bool // from the stream
	size    int             // of each message
	every   time.Duration   // between two messages
	ids     int
	tries   map[uint64]string // ack subject of the newest delivery of each message
	log     []string
}

func start0() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func newBench(c Config, keep bool) *bench {
	b := &bench{now: start0(), size: 100, first: 1, deleted: map[uint64]bool{}, tries: map[uint64]string{}}
	b.clients = testClients{map[string]bool{}, map[string]bool{}}
	b.machine = newMachine(c, names{"S", "c"}, keep, func() string { b.ids++; return fmt.Sprintf("id%d", b.ids) }, b.now)
	return b
}

// mustConfig completes and checks a configuration.
func mustConfig(t interface{ Fatal(...any) }, text string) Config {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	s := testStream()
	c.complete(s.Limits)
	if err := c.check(&s); err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bench) published(sequence uint64) time.Time {
	return start0().Add(time.Duration(sequence) * b.every)
}

// left is the number of messages from a sequence on.
func (b *bench) left(from uint64) uint64 {
	var n uint64
	for s := max(from, b.first); s <= b.last; s++ {
		if !b.deleted[s] {
			n++
		}
	}
	return n
}

func (b *bench) undelivered() uint64 {
	if len(b.skip) > 0 {
		return uint64(len(b.skip)) + b.left(b.resume+1)
	}
	return b.left(b.next)
}

// run delivers until nothing more can be delivered, as the shell does.
func (b *bench) run() {
	b.tick(b.now, &b.clients)
	b.collect()
	for {
		w, ok := b.wants(b.now)
		if b.undecided() {
			b.judge(b.undelivered(), b.now)
			b.collect()
			continue
		}
		if !ok {
			return
		}
		sequence := w.sequence
		for !w.exactly && sequence <= b.last && (b.deleted[sequence] || sequence < b.first) {
			sequence++
		}
		if sequence > b.last {
			b.end(b.last, b.now)
			b.collect()
			return
		}
		if b.deleted[sequence] || sequence < b.first {
			b.missing(sequence, b.now)
			b.collect()
			continue
		}
		left := b.undelivered()
		if b.pending.get(sequence) == nil {
			left--
		}
		ok = b.offer(offered{sequence, b.published(sequence), b.size, left}, b.now, &b.clients)
		b.collect()
		if !ok {
			return
		}
	}
}

// collect notes what the machine asks for.
func (b *bench) collect() {
	for _, e := range b.take() {
		switch e := e.(type) {
		case send:
			b.tries[e.sequence] = e.reply
			line := fmt.Sprintf("%s <- #%d %s", e.inbox, e.sequence, strings.TrimPrefix(e.reply, ackPrefix+"S.c."))
			if e.pin != "" {
				line += " pin " + e.pin
			}
			b.log = append(b.log, line)
		case status:
			line := fmt.Sprintf("%s <- %s", e.inbox, strings.ReplaceAll(e.line, "\r\n", "; "))
			if e.reply != "" {
				line += " reply " + e.reply
			}
			b.log = append(b.log, line)
		case advise:
			b.log = append(b.log, adviceText(e.advisory))
		case settle:
			b.log = append(b.log, fmt.Sprintf("settled #%d", e.sequence))
		case expire:
			b.log = append(b.log, "expired")
		}
	}
}

// adviceText is an advisory without what every one has.
func adviceText(a advisory) string {
	text, err := json.Marshal(a)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return err.Error()
	}
	for _, key := range []string{"type", "id", "timestamp", "stream", "consumer"} {
		delete(fields, key)
	}
	text, _ = json.Marshal(fields)
	name := a.subject()
	return name[strings.LastIndex(name, ".")+1:] + " " + string(text)
}

// answer acknowledges the newest delivery of a message.
func (b *bench) answer(sequence uint64, body string) error {
	subject, ok := b.tries[sequence]
	if !ok {
		return errNotDelivered
	}
	return b.answerTo(subject, body)
}

func (b *bench) answerTo(subject, body string) error {
	a, err := parseAck(subject, []byte(body))
	if err == nil {
		err = b.ack(a, b.now)
	}
	if err == nil && a.verb == nextVerb {
		b.machine.pull("next", a.next, b.now, &b.clients)
	}
	b.collect()
	return err
}

// summary is the state of the machine in one line.
func (b *bench) summary() string {
	line := fmt.Sprintf("delivered %d/%d floor %d/%d", b.delivered.consumer, b.delivered.stream, b.floor.consumer, b.floor.stream)
	for e := b.pending.first(); e != nil; e = e.next() {
		line += fmt.Sprintf(" #%dx%d", e.stream, e.deliveries)
		if e.again != nil {
			line += "!"
		}
	}
	if n := b.waiting.len(); n > 0 {
		line += fmt.Sprintf(" waiting %d", n)
	}
	if n := len(b.givenUp); n > 0 {
		line += fmt.Sprintf(" given up %d", n)
	}
	if d := b.deadline(b.now); !d.IsZero() {
		line += fmt.Sprintf(" next in %v", d.Sub(b.now))
	}
	return line
}
