package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/producer"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// logBuffer collects what the server says.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testServer is a Server behind a listener on the loopback.
type testServer struct {
	*Server
	t    *testing.T
	addr string
	log  *logBuffer
	stop context.CancelFunc
	done chan struct{} // closed when the listener and all connections have ended
}

// startServer serves o until the test ends.
func startServer(t *testing.T, o Options) *testServer {
	t.Helper()
	out := &logBuffer{}
	o.Logger = zerolog.New(out)
	if o.Budget == nil {
		o.Budget = producer.NewBudget(64 << 20)
	}
	if o.ClusterID == "" {
		o.ClusterID = "test"
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ts := &testServer{New(o), t, l.Addr().String(), out, cancel, make(chan struct{})}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { ts.ServeConn(ctx, nc) })
		}
	})
	context.AfterFunc(ctx, func() { l.Close() })
	go func() { conns.Wait(); close(ts.done) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ts.done:
		case <-time.After(patience):
			t.Error("connections did not end")
		}
	})
	return ts
}

// client is a raw connection.
type client struct {
	t    *testing.T
	nc   net.Conn
	next int32
}

func (ts *testServer) dial() *client {
	ts.t.Helper()
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	return &client{t: ts.t, nc: nc}
}

// frame encodes a request, and returns its correlation id.
func (c *client) frame(req kmsg.Request) ([]byte, int32) {
	c.next++
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).AppendRequest(nil, req, c.next), c.next
}

func (c *client) send(req kmsg.Request) int32 {
	c.t.Helper()
	b, id := c.frame(req)
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
	return id
}

// readFrame returns the correlation id of the next answer and what follows it.
func (c *client) readFrame() (int32, []byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.nc, size[:]); err != nil {
		return 0, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.nc, b); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], nil
}

// receive reads the answer to req, which must be the next one.
func (c *client) receive(req kmsg.Request, id int32) kmsg.Response {
	c.t.Helper()
	got, b, err := c.readFrame()
	if err != nil {
		c.t.Fatalf("read the answer of key %d: %v", req.Key(), err)
	}
	if got != id {
		c.t.Fatalf("answer to request %d, want %d", got, id)
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() && req.Key() != keyApiVersions {
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		c.t.Fatalf("decode the answer of key %d: %v", req.Key(), err)
	}
	return resp
}

// ask sends a request and returns its answer.
func ask[T kmsg.Response](c *client, req kmsg.Request) T {
	c.t.Helper()
	return c.receive(req, c.send(req)).(T)
}

// wantClosed requires that the server closes the connection without sending anything.
func (c *client) wantClosed() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c.nc)
	var timeout net.Error
	if n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("the connection is open: %d bytes, error %v", n, err)
	}
}
