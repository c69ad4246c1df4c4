package broker

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// pipeListener is a listener without a network: its connections come from dial, and its failures from fail.
type pipeListener struct {
	conns  chan net.Conn
	fail   chan error
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan error, 16), make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case err := <-l.fail:
		return nil, err
	default:
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// echo answers lines until ctx is done.
func echo(ctx context.Context, c net.Conn) error {
	defer context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })()
	_, err := io.Copy(c, c)
	return err
}

// say sends one line and returns the answer, "" when the connection is closed.
func say(c net.Conn, text string) string {
	if _, err := io.WriteString(c, text+"\n"); err != nil {
		return ""
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return ""
	}
	return line[:len(line)-1]
}

// startListener runs l and returns a function that stops it and returns its error and how long the stop took.
func startListener(t *testing.T, l *listener) (stop func() (error, time.Duration)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.run(ctx) }()
	return func() (error, time.Duration) {
		began := time.Now()
		cancel()
		err := <-ended
		return err, time.Since(began)
	}
}

func TestListenerServesAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newPipeListener()
		stop := startListener(t, newListener(door, echo, &seats{most: 10}, time.Minute, zerolog.Nop()))
		for range 3 {
			if got := say(door.dial(), "hello"); got != "hello" {
				t.Errorf("got %q", got)
			}
		}
		if err, took := stop(); err != nil || took != 0 {
			t.Errorf("stopped after %v with %v", took, err)
		}
	})
}

func TestListenerClosesTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newPipeListener()
		deaf := func(_ context.Context, c net.Conn) error {
			_, err := io.Copy(io.Discard, c) // sees the closed socket only
			return err
		}
		stop := startListener(t, newListener(door, deaf, &seats{most: 10}, 7*time.Second, zerolog.Nop()))
		door.dial()
		synctest.Wait()
		if err, took := stop(); err != nil || took != 7*time.Second {
			t.Errorf("stopped after %v with %v, want 7s", took, err)
		}
	})
}

func TestListenerRefusesAboveItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newPipeListener()
		stop := startListener(t, newListener(door, echo, &seats{most: 2}, time.Minute, zerolog.Nop()))
		first, second := door.dial(), door.dial()
		for range 5 {
			if got := say(door.dial(), "x"); got != "" {
				t.Errorf("a third connection was served: %q", got)
			}
		}
		for _, c := range []net.Conn{first, second} {
			if got := say(c, "still here"); got != "still here" {
				t.Errorf("an open connection suffered: %q", got)
			}
		}
		first.Close()
		synctest.Wait()
		if got := say(door.dial(), "room"); got != "room" {
			t.Errorf("no room after a client left: %q", got)
		}
		stop()
	})
}

func TestListenerOutlivesShortages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newPipeListener()
		for range 10 {
			door.fail <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		began := time.Now()
		stop := startListener(t, newListener(door, echo, &seats{most: 2}, time.Minute, zerolog.Nop()))
		if got := say(door.dial(), "x"); got != "x" {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took < time.Second || took > 10*acceptPause {
			t.Errorf("ten failures were waited out in %v", took)
		}
		stop()
	})
}

func TestListenerEndsWhenItsSocketIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newPipeListener()
		door.fail <- syscall.EBADF
		if err := newListener(door, echo, &seats{most: 2}, time.Minute, zerolog.Nop()).run(t.Context()); !errors.Is(err, syscall.EBADF) {
			t.Errorf("got %v, want EBADF", err)
		}
	})
}

func TestNoticeIsRare(t *testing.T) {
	var n notice
	now := time.Now()
	for i, want := range []struct {
		after time.Duration
		times int
	}{{0, 1}, {time.Second, 0}, {time.Second, 0}, {noticePause, 3}, {time.Second, 0}} {
		now = now.Add(want.after)
		if times, ok := n.due(now); times != want.times || ok != (want.times > 0) {
			t.Errorf("%d: got %d, %t, want %d", i, times, ok, want.times)
		}
	}
}
