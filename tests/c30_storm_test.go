package tests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"brokerd/tests/harness"
)

// rawNATS is a connection to the NATS port that is spoken to by hand. It has read the greeting.
type rawNATS struct {
	net.Conn
	in *bufio.Reader
}

func dialNATS(s *harness.Server) (*rawNATS, error) {
	c, err := net.DialTimeout("tcp", s.NATS, 10*time.Second)
	if err != nil {
		return nil, err
	}
	r := &rawNATS{c, bufio.NewReader(c)}
	if greeting, err := r.line(); err != nil || !strings.HasPrefix(greeting, "INFO {") {
		c.Close()
		return nil, fmt.Errorf("greeted with %q: %w", greeting, err)
	}
	return r, nil
}

func (r *rawNATS) line() (string, error) {
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return "", err
	}
	return r.in.ReadString('\n')
}

// introduce logs in, and returns when that is done.
func (r *rawNATS) introduce() error {
	const hello = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}` + "\r\nPING\r\n"
	if _, err := io.WriteString(r, hello); err != nil {
		return err
	}
	if pong, err := r.line(); err != nil || pong != "PONG\r\n" {
		return fmt.Errorf("PING was answered by %q: %w", pong, err)
	}
	return nil
}

// C30: a thousand idle clients cost a known amount of memory. All leave at once and come back within seconds, while another
// client is served. The ones that do not answer are found and closed, the others kept.
func TestC30IdleConnectionsAndAStorm(t *testing.T) {
	const clients = 1000
	s := start(t, options(t, "BROKERD_NATS_PING_INTERVAL=1s"))
	worker, err := nats.Connect("nats://" + s.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if _, err := worker.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := worker.Flush(); err != nil {
		t.Fatal(err)
	}
	before := resident(t, s)
	all := stormIn(t, s, clients)
	each := (resident(t, s) - before) / clients
	t.Logf("%d bytes of memory for each connection", each)
	if each > 64<<10 && !harness.Race {
		t.Errorf("a connection takes %d bytes", each)
	}

	slowest := askMeanwhile(t, s, func() {
		for _, r := range all {
			r.Close()
		}
		all = stormIn(t, s, clients)
	})
	t.Logf("slowest answer during the storm: %s", slowest)
	if slowest > 5*time.Second {
		t.Errorf("a working client waited %s", slowest)
	}

	// None of them answers a PING: they are closed. The worker does, and stays.
	eventually(t, 30*time.Second, "connections that do not answer are closed", func() bool {
		return strings.Contains(scrape(t, s), "\nbrokerd_nats_connections 1\n")
	})
	if last, err := all[0].in.Peek(1); err != nil {
		t.Errorf("not told why: %q, %v", last, err)
	}
	if n := worker.Stats().Reconnects; n != 0 || !worker.IsConnected() {
		t.Errorf("the client that answers lost its connection %d times", n)
	}
}

// stormIn opens connections at once.
func stormIn(t *testing.T, s *harness.Server, n int) []*rawNATS {
	t.Helper()
	began := time.Now()
	all := make([]*rawNATS, n)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			r, err := dialNATS(s)
			if err == nil {
				all[i] = r
				t.Cleanup(func() { r.Close() })
				err = r.introduce()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("%d connections within %s", n, time.Since(began).Round(time.Millisecond))
	return all
}

// askMeanwhile has fresh clients ask for an echo, one after the other, until f returns. It returns the longest wait.
func askMeanwhile(t *testing.T, s *harness.Server, f func()) (slowest time.Duration) {
	t.Helper()
	var done atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for !done.Load() {
			began := time.Now()
			nc, err := nats.Connect("nats://"+s.NATS, nats.Timeout(20*time.Second))
			if err != nil {
				t.Errorf("a fresh client: %v", err)
				return
			}
			if _, err := nc.Request("echo", nil, 20*time.Second); err != nil {
				t.Errorf("a request: %v", err)
			}
			nc.Close()
			slowest = max(slowest, time.Since(began))
		}
	})
	f()
	done.Store(true)
	group.Wait()
	return slowest
}
