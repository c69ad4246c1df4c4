package tests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"brokerd/tests/harness"
)

// C39: malformed and oversize lines of the NATS protocol. Each gets the answer that nats-server gives; memory is bounded;
// nothing inside a payload is a command; other clients do not notice.
func TestC39MalformedLines(t *testing.T) {
	s := start(t, options(t))
	evil, working := watchEvil(t, s)
	before := resident(t, s)

	const unknown, tooLong = "-ERR 'Unknown Protocol Operation'\r\n", "-ERR 'maximum control line exceeded'\r\n"
	const injected = "\r\nPUB evil 0\r\n\r\n"
	header := "NATS/1.0\r\nA: b" + injected + "\r\n"
	for _, c := range []struct {
		name, say, hear string
		stays           bool
	}{
		{"total below the header", "HPUB a 12 5\r\nNATS/1.0\r\n\r\n\r\n", "", false},
		{"negative size", "PUB a -1\r\n\r\n", "", false},
		{"negative header size", "HPUB a -1 2\r\nhi\r\n", "", false},
		{"a size that is no number", "PUB a 2x\r\nhi\r\n", "", false},
		{"20 digits", "PUB a 18446744073709551616\r\n", "", false},
		{"one byte too large", "HPUB a 12 1048577\r\nNATS/1.0\r\n\r\n" + injected, "-ERR 'Maximum Payload Violation'\r\n", false},
		{"a line without an end", "PUB " + strings.Repeat("a", 1<<20), tooLong, false},
		{"a line a little too long", "SUB " + strings.Repeat("a", 4095) + " 1\r\n", tooLong, false},
		{"a payload that is longer than announced", "PUB a 2\r\nhi there" + injected, unknown, false},
		{"a payload that is shorter than announced", "PUB a 100\r\nhi" + injected + strings.Repeat("x", 100), unknown, false},
		{"a payload with a command", "PUB a 20\r\nxx" + injected + "xx\r\nPING\r\n", "PONG\r\n", true},
		{"a header with a command", fmt.Sprintf("HPUB a %d %d\r\n%s\r\nPING\r\n", len(header), len(header), header), "PONG\r\n", true},
		{"four arguments", "PUB a b c 0\r\n\r\n", "", false},
		{"SUB with NUL and bytes that are no UTF-8", "SUB a\x00\xff 1\r\nPUB a\x00\xff 0\r\n\r\nPING\r\n",
			"MSG a\x00\xff 1 0\r\n\r\nPONG\r\n", true},
		{"tabs", "SUB\ta\t1\r\nPUB\ta\t0\r\n\r\nPING\r\n", "MSG a 1 0\r\n\r\nPONG\r\n", true},
		{"lines ended by LF", "SUB a 1\nPUB a 0\n\r\nPING\n", "MSG a 1 0\r\n\r\nPONG\r\n", true},
		{"an empty token", "SUB a..b 1\r\nPING\r\n", "-ERR 'Invalid Subject'\r\nPONG\r\n", true},
		{"another protocol", "GET / HTTP/1.1\r\n\r\n", unknown, false},
	} {
		for _, split := range []bool{false, true} {
			if split && len(c.say) > 200 {
				continue
			}
			if got, stays := say(t, s, c.say, c.hear, split); got != c.hear || stays != c.stays {
				t.Errorf("%s (byte by byte: %v): heard %q, stays %v; want %q, %v", c.name, split, got, stays, c.hear, c.stays)
			}
		}
	}
	if n := evil.Load(); n != 0 {
		t.Errorf("%d commands inside payloads were run", n)
	}
	working()
	if grown := resident(t, s) - before; grown > 64<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// say sends text on a connection of its own, whole or byte by byte, and returns what is heard: want, or what comes until
// the connection is closed. stays says that it still answers then.
func say(t *testing.T, s *harness.Server, text, want string, split bool) (heard string, stays bool) {
	t.Helper()
	r, err := dialNATS(s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.introduce(); err != nil {
		t.Fatal(err)
	}
	var pieces []string
	if split {
		pieces = strings.Split(text, "")
	} else {
		pieces = []string{text}
	}
	for _, p := range pieces {
		if _, err := io.WriteString(r, p); err != nil {
			break // it was closed before the end
		}
	}
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(want))
	n, _ := io.ReadFull(r.in, b)
	if heard = string(b[:n]); heard != want {
		return heard, false
	}
	if _, err := io.WriteString(r, "PING\r\n"); err != nil {
		return heard, false
	}
	more, err := r.line()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("neither closed nor answered")
	}
	return heard, err == nil && more == "PONG\r\n"
}

// watchEvil counts messages to the subject that nobody publishes to, and has a client work until done is called, which
// fails the test if that was disturbed.
func watchEvil(t *testing.T, s *harness.Server) (evil *atomic.Int64, done func()) {
	t.Helper()
	nc, err := nats.Connect("nats://"+s.NATS, nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	evil = new(atomic.Int64)
	if _, err := nc.Subscribe("evil", func(*nats.Msg) { evil.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for !stop.Load() {
			if _, err := nc.Request("echo", nil, 20*time.Second); err != nil {
				t.Errorf("a working client: %v", err)
				return
			}
		}
	})
	return evil, func() {
		stop.Store(true)
		group.Wait()
		if n := metric(t, s, "brokerd_nats_slow_consumers"); n != 0 {
			t.Errorf("%v connections were closed as slow", n)
		}
	}
}
