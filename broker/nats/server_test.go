package nats

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// patience is how long a test waits for what has to happen.
const patience = 10 * time.Second

// house is a server with a listener of its own.
type house struct {
	*Server
	t    *testing.T
	addr string
	stop func()
}

func serveHere(t *testing.T, o Options) *house {
	t.Helper()
	h := closedHouse(t, o)
	h.open()
	return h
}

// closedHouse is a server whose listener is not there yet.
func closedHouse(t *testing.T, o Options) *house {
	t.Helper()
	o.ServerName, o.ServerID, o.Logger = "test", "ID", zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &house{Server: s, t: t}
}

func (h *house) open() {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _ = h.ServeConn(ctx, c) })
		}
	})
	h.addr = l.Addr().String()
	h.stop = sync.OnceFunc(func() { cancel(); l.Close(); all.Wait() })
	h.t.Cleanup(h.stop)
}

func (h *house) connect(options ...nats.Option) *nats.Conn {
	h.t.Helper()
	nc, err := nats.Connect("nats://"+h.addr, append([]nats.Option{nats.NoReconnect()}, options...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(nc.Close)
	return nc
}

// raw is a connection that is spoken to by hand.
type raw struct {
	net.Conn
	t    *testing.T
	in   *bufio.Reader
	info string
}

func (h *house) dial() *raw {
	h.t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	r := &raw{Conn: c, t: h.t, in: bufio.NewReader(c)}
	r.info = r.line()
	return r
}

func (r *raw) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r, text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) line() string {
	r.t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	s, err := r.in.ReadString('\n')
	if err != nil {
		r.t.Fatalf("read %q, then: %v", s, err)
	}
	return s
}

// until reads up to and with the line end, or to the end of the connection, and leaves INFO out.
func (r *raw) until(end string) string {
	r.t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	for {
		s, err := r.in.ReadString('\n')
		if !strings.HasPrefix(s, "INFO ") {
			b.WriteString(s)
		}
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				r.t.Fatalf("read %q, then: %v", b.String(), err)
			}
			return b.String() + "END"
		}
		if s == end {
			return b.String()
		}
	}
}

const hello = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"protocol":1}` + "\r\n"

// What a client says, and what it hears. Each row was compared with nats-server 2.15.
func TestTraces(t *testing.T) {
	h := serveHere(t, Options{})
	for _, c := range []struct{ name, say, hear string }{
		{"no CONNECT", "PING\r\n", "PONG\r\n"},
		{"no CONNECT is verbose", "SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n", "+OK\r\n+OK\r\nMSG a 1 2\r\nhi\r\nPONG\r\n"},
		{"empty CONNECT is verbose", "CONNECT {}\r\nPING\r\n", "+OK\r\nPONG\r\n"},
		{"verbose", `CONNECT {"verbose":true}` + "\r\nSUB a 1\r\nPUB a 0\r\n\r\nUNSUB 1\r\nPING\r\n",
			"+OK\r\n+OK\r\n+OK\r\nMSG a 1 0\r\n\r\n+OK\r\nPONG\r\n"},
		{"verbose and wrong", `CONNECT {"verbose":true}` + "\r\nSUB a..b 1\r\nPING\r\n", "+OK\r\n-ERR 'Invalid Subject'\r\nPONG\r\n"},
		{"quiet", hello + "SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n", "MSG a 1 2\r\nhi\r\nPONG\r\n"},
		{"headers", hello + "SUB a 1\r\nHPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPING\r\n",
			"HMSG a 1 b 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPONG\r\n"},
		{"a second CONNECT", hello + `CONNECT {"verbose":true}` + "\r\nPING\r\n", "+OK\r\nPONG\r\n"},
		{"no JSON", "CONNECT {x}\r\nPING\r\n", "END"},
		{"wrong JSON", `CONNECT {"verbose":"x"}` + "\r\nPING\r\n", "END"},
		{"CONNECT alone", "CONNECT\r\nPING\r\n", "END"},
		{"protocol", `CONNECT {"protocol":2}` + "\r\nPING\r\n", "-ERR 'invalid client protocol'\r\nEND"},
		{"no_responders alone", `CONNECT {"no_responders":true}` + "\r\nPING\r\n",
			"-ERR 'no responders requires headers support'\r\nEND"},
		{"account", `CONNECT {"account":"x"}` + "\r\nPING\r\n", "-ERR 'Authorization Violation'\r\nEND"},
		{"pedantic", `CONNECT {"verbose":false,"pedantic":true}` + "\r\nPUB a.* 0\r\n\r\nPING\r\n",
			"-ERR 'Invalid Publish Subject'\r\nPONG\r\n"},
		{"not pedantic", hello + "SUB *.* 1\r\nSUB > 2\r\nPUB a..b 0\r\n\r\nPUB .a 0\r\n\r\nPUB a. 0\r\n\r\nPUB * 0\r\n\r\nUNSUB 2\r\nPING\r\n",
			"MSG * 2 0\r\n\r\nPONG\r\n"},
		{"invalid subscriptions", hello + "SUB a.>.b 1\r\nSUB .a 1\r\nPING\r\n",
			"-ERR 'Invalid Subject'\r\n-ERR 'Invalid Subject'\r\nPONG\r\n"},
		{"half wildcards", hello + "SUB a*.b> 1\r\nPUB a*.b> 0\r\n\r\nPING\r\n", "MSG a*.b> 1 0\r\n\r\nPONG\r\n"},
		{"one sid twice", hello + "SUB a 1\r\nSUB b 1\r\nPUB a 0\r\n\r\nPUB b 0\r\n\r\nPING\r\n", "MSG a 1 0\r\n\r\nPONG\r\n"},
		{"UNSUB of nothing", hello + "UNSUB 77\r\nPING\r\n", "PONG\r\n"},
		{"UNSUB with nonsense", hello + "SUB a 1\r\nUNSUB 1 x\r\nPUB a 0\r\n\r\nPING\r\n", "PONG\r\n"},
		{"UNSUB after 2", hello + "SUB a 1\r\nUNSUB 1 2\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nPING\r\n",
			"MSG a 1 0\r\n\r\nMSG a 1 0\r\n\r\nPONG\r\n"},
		{"UNSUB after more have come", hello + "SUB a 1\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nUNSUB 1 2\r\nPUB a 0\r\n\r\nPING\r\n",
			"MSG a 1 0\r\n\r\nMSG a 1 0\r\n\r\nPONG\r\n"},
		{"no echo", `CONNECT {"verbose":false,"echo":false}` + "\r\nSUB a 1\r\nPUB a 0\r\n\r\nPING\r\n", "PONG\r\n"},
		{"nobody listens", `CONNECT {"verbose":false,"headers":true,"no_responders":true}` +
			"\r\nSUB r.* 5\r\nPUB x r.1 2\r\nhi\r\nPING\r\n",
			"HMSG r.1 5 33 33\r\nNATS/1.0 503\r\nNats-Subject: x\r\n\r\n\r\nPONG\r\n"},
		{"nobody but oneself listens", `CONNECT {"verbose":false,"echo":false,"headers":true,"no_responders":true}` +
			"\r\nSUB r.* 5\r\nSUB x 6\r\nPUB x r.1 0\r\n\r\nPING\r\n",
			"HMSG r.1 5 33 33\r\nNATS/1.0 503\r\nNats-Subject: x\r\n\r\n\r\nPONG\r\n"},
		{"nobody listens to that either", `CONNECT {"verbose":false,"headers":true,"no_responders":true}` +
			"\r\nPUB x r.1 2\r\nhi\r\nPING\r\n", "PONG\r\n"},
		{"a header from who has none", `CONNECT {"verbose":false}` + "\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\nPING\r\n", "END"},
		{"reserved", hello + "PUB _GR_.x 0\r\n\r\nPUB $NRG.x 0\r\n\r\nPUB a _R_.x 0\r\n\r\nPUB a $JS.ACK.x 0\r\n\r\nPING\r\n",
			"-ERR 'Permissions Violation for Publish to \"_GR_.x\"'\r\n-ERR 'Permissions Violation for Publish to \"$NRG.x\"'\r\n" +
				"-ERR 'Permissions Violation for Publish with Reply of \"_R_.x\"'\r\n" +
				"-ERR 'Permissions Violation for Publish with Reply of \"$JS.ACK.x\"'\r\nPONG\r\n"},
		{"plain before queue", hello + "SUB a q 1\r\nSUB a 3\r\nPUB a 0\r\n\r\nPING\r\n", "MSG a 3 0\r\n\r\nMSG a 1 0\r\n\r\nPONG\r\n"},
		{"an unknown command", hello + "FOO\r\nPING\r\n", "-ERR 'Unknown Protocol Operation'\r\nEND"},
		{"a payload too large", hello + "PUB a 1048577\r\n", "-ERR 'Maximum Payload Violation'\r\nEND"},
		{"a line too long", hello + "PUB " + strings.Repeat("a", 5000) + " 0\r\n", "-ERR 'maximum control line exceeded'\r\nEND"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.dial()
			r.t = t
			r.send(c.say)
			if got := r.until("PONG\r\n"); got != c.hear {
				t.Errorf("said %q\nheard %q\n want %q", c.say, got, c.hear)
			}
		})
	}
}

func TestFirstPongComesBeforeTheSecondInfo(t *testing.T) {
	h := serveHere(t, Options{})
	r := h.dial()
	if !strings.HasPrefix(r.info, `INFO {"server_id":"ID","server_name":"test","version":"2.`) {
		t.Errorf("greeted with %s", r.info)
	}
	r.send(hello + "PING\r\nPING\r\n")
	if pong, info, again := r.line(), r.line(), r.line(); pong != "PONG\r\n" || again != pong ||
		!strings.Contains(info, `"connect_info":true,"remote_account":"$G"`) {
		t.Errorf("heard %q, %q, %q", pong, info, again)
	}
}

func TestClientsOfNATS(t *testing.T) {
	h := serveHere(t, Options{})
	a, b := h.connect(), h.connect()
	if _, err := a.Subscribe("greet.*", func(m *nats.Msg) {
		if err := m.RespondMsg(&nats.Msg{Data: append([]byte("hello "), m.Data...), Header: m.Header}); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	m, err := b.RequestMsg(&nats.Msg{Subject: "greet.x", Data: []byte("you"), Header: nats.Header{"A": {"1", "2"}}}, patience)
	if err != nil || string(m.Data) != "hello you" || fmt.Sprint(m.Header["A"]) != "[1 2]" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := b.Request("nobody", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("nobody answered with %v", err)
	}
	if n := h.counts(); n.Connections != 2 || n.In.Messages != 3 || n.Subscriptions != 2 {
		t.Errorf("counted %+v", n)
	}
}

// A message for a queue group reaches one member, and every member sometime.
func TestQueueGroups(t *testing.T) {
	h := serveHere(t, Options{})
	const members, messages = 3, 300
	got := make([]int, members)
	var all sync.WaitGroup
	all.Add(messages)
	var mu sync.Mutex
	for i := range members {
		nc := h.connect()
		if _, err := nc.QueueSubscribe("work.>", "q", func(*nats.Msg) {
			mu.Lock()
			got[i]++
			mu.Unlock()
			all.Done()
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	nc := h.connect()
	for i := range messages {
		if err := nc.Publish(fmt.Sprint("work.", i%7), nil); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i, n := range got {
		if n == 0 {
			t.Errorf("member %d got nothing: %v", i, got)
		}
	}
}

// Large messages, many of them, arrive whole and in order.
func TestManyBytes(t *testing.T) {
	h := serveHere(t, Options{})
	sub, pub := h.connect(), h.connect()
	const messages = 400
	next, done := 0, make(chan struct{})
	if _, err := sub.Subscribe("x", func(m *nats.Msg) {
		if want := payload(next); string(m.Data) != want {
			t.Errorf("message %d differs", next)
		}
		if next++; next == messages {
			close(done)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := sub.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if err := pub.Publish("x", []byte(payload(i))); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("not all have come")
	}
}

func payload(i int) string { return strings.Repeat(fmt.Sprint(i, ","), 1+i*i%30_000) }

func TestStoppingIsQuick(t *testing.T) {
	h := serveHere(t, Options{})
	nc := h.connect()
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	h.stop()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the client was not disconnected")
	}
	if n := h.counts(); n.Connections != 0 || n.Subscriptions != 0 {
		t.Errorf("left: %+v", n)
	}
}
