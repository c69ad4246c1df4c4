package kafka

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"brokerd/producer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPIVersions(t *testing.T) {
	for version := int16(0); version <= 4; version++ {
		c := startServer(t, Options{}).dial()
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test-client", "1.0"
		resp := ask[*kmsg.ApiVersionsResponse](c, req)
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(table()) {
			t.Fatalf("version %d: error %d, %d keys of %d", version, resp.ErrorCode, len(resp.ApiKeys), len(table()))
		}
		if k := resp.ApiKeys[0]; k.ApiKey != keyProduce || k.MinVersion != 0 || k.MaxVersion != 13 {
			t.Errorf("version %d: Produce is advertised as %+v", version, k)
		}
	}
}

func TestAPIVersionsOfTheFuture(t *testing.T) {
	c := startServer(t, Options{}).dial()
	b := binary.BigEndian.AppendUint32(nil, 12)
	b = binary.BigEndian.AppendUint16(b, keyApiVersions)
	b = binary.BigEndian.AppendUint16(b, 99)
	b = binary.BigEndian.AppendUint32(b, 7)
	b = append(b, "\xff\xff??"...)
	c.nc.Write(b)
	req := kmsg.NewPtrApiVersionsRequest()
	resp := c.receive(req, 7).(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != codeUnsupportedVersion || len(resp.ApiKeys) == 0 {
		t.Fatalf("error %d, %d keys", resp.ErrorCode, len(resp.ApiKeys))
	}
	if resp := ask[*kmsg.ApiVersionsResponse](c, req); resp.ErrorCode != 0 {
		t.Fatalf("the connection is not usable: error %d", resp.ErrorCode)
	}
}

func TestAPIVersionsNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"librdkafka": true, "a": true, "apache-kafka-java": true, "v1.2.3-rc1": true,
		"": false, "-a": false, "a.": false, "a b": false, "a\n": false,
	} {
		if softwareName(name) != ok {
			t.Errorf("softwareName(%q) = %v", name, !ok)
		}
	}
}

// TestRefused: bytes that are no request close the connection, with a word on what they look like.
func TestRefused(t *testing.T) {
	tests := []struct{ name, bytes, says string }{
		{"http", "GET / HTTP/1.1\r\n\r\n", "looks like HTTP"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "looks like TLS"},
		{"text", "hello there", "looks like text"},
		{"ssh", "SSH-2.0-OpenSSH_9.2", "looks like SSH"},
		{"huge", "\x7f\xff\xff\xff", "2147483647 bytes"},
		{"zero", "\x00\x00\x00\x00", "0 bytes"},
		{"negative", "\xff\xff\xff\xff", "-1 bytes"},
		{"unknown key", "\x00\x00\x00\x10\x00\x63\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", "key 99"},
		{"negative key", "\x00\x00\x00\x10\xff\xff\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", "key -1"},
		{"unknown version", "\x00\x00\x00\x10\x00\x03\x00\x63\x00\x00\x00\x01\x00\x00\x00\x00", "Metadata version 99"},
		{"old produce", "\x00\x00\x00\x10\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00", "Produce version 2"},
		{"large metadata", "\x00\x50\x00\x00\x00\x03\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00", "Metadata request of"},
		{
			"array of two thousand million", "\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff\x00\x00",
			"malformed Metadata",
		},
		{"long client id", "\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x01\x7f\xff\x00\x00\x00\x00\x00\x00", "client id"},
	}
	ts := startServer(t, Options{})
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := ts.dial()
			c.t = t
			c.nc.Write([]byte(test.bytes))
			c.wantClosed()
			eventually(t, func() bool { return strings.Contains(ts.log.String(), test.says) })
			if n := ts.Stats().Refused.Load(); n != int64(i+1) {
				t.Errorf("%d refused, want %d", n, i+1)
			}
		})
	}
	if n := ts.o.Budget.InUse(); n != 0 {
		t.Errorf("%d bytes of the budget are still in use", n)
	}
}

// TestSlow: a client that does not go on is closed after a while; times are fake.
func TestSlow(t *testing.T) {
	tests := []struct {
		name, bytes string
		closedAfter time.Duration
		refused     int64
	}{
		{"silent", "", 30 * time.Second, 0},
		{"half a size", "\x00\x00", 15 * time.Second, 1},
		{"half a frame", "\x00\x00\x00\x10\x00\x03\x00\x01\x00", 15 * time.Second, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Budget: producer.NewBudget(1 << 20)})
				here, there := net.Pipe()
				defer here.Close()
				start := time.Now()
				go here.Write([]byte(test.bytes))
				s.ServeConn(t.Context(), there)
				if took := time.Since(start).Round(time.Second); took != test.closedAfter {
					t.Errorf("closed after %v, want %v", took, test.closedAfter)
				}
				if n := s.Stats().Refused.Load(); n != test.refused {
					t.Errorf("%d refused, want %d", n, test.refused)
				}
				if n := s.o.Budget.InUse(); n != 0 {
					t.Errorf("%d bytes of the budget are still in use", n)
				}
			})
		})
	}
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Budget: producer.NewBudget(1 << 20)})
		here, there := net.Pipe()
		defer here.Close()
		c := &client{t: t, nc: here}
		go func() { ask[*kmsg.ApiVersionsResponse](c, kmsg.NewPtrApiVersionsRequest()) }()
		start := time.Now()
		if err := s.ServeConn(t.Context(), there); err != nil {
			t.Error(err)
		}
		if took := time.Since(start).Round(time.Second); took != 10*time.Minute {
			t.Errorf("closed after %v, want 10m", took)
		}
	})
}

// slowAPI holds the answers of ApiVersions back.
type slowAPI struct {
	asked chan chan struct{} // one per request, to be closed to let its answer go
}

func slowServer(t *testing.T, o Options) (*testServer, *slowAPI) {
	slow := &slowAPI{asked: make(chan chan struct{}, 100)}
	ts := startServer(t, o)
	ts.apis[keyApiVersions].handle = func(s *Server, r *request) answer {
		release := make(chan struct{})
		slow.asked <- release
		return func(ctx context.Context) (reply, error) {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return message{kmsg.NewPtrApiVersionsResponse()}, nil
		}
	}
	return ts, slow
}

// TestPipeline: requests are taken while answers are due, and answered in order.
func TestPipeline(t *testing.T) {
	ts, slow := slowServer(t, Options{})
	c := ts.dial()
	const n = 5
	req := kmsg.NewPtrApiVersionsRequest()
	var releases []chan struct{}
	for range n {
		c.send(req)
	}
	for range n {
		releases = append(releases, <-slow.asked)
	}
	for i := n - 1; i >= 0; i-- {
		close(releases[i])
	}
	for id := int32(1); id <= n; id++ {
		c.receive(req, id)
	}
}

// TestInFlightLimit: at the limit, nothing more is read.
func TestInFlightLimit(t *testing.T) {
	ts, slow := slowServer(t, Options{Limits: Limits{InFlightBytes: 64}})
	c := ts.dial()
	req := kmsg.NewPtrApiVersionsRequest() // 16 bytes and the client id's
	b, _ := c.frame(req)
	fit := 64 / (len(b) - 4)
	for range fit + 2 {
		c.nc.Write(b)
	}
	first := <-slow.asked
	for range fit - 1 {
		close(<-slow.asked)
	}
	select {
	case <-slow.asked:
		t.Fatal("a request was taken above the limit")
	case <-time.After(50 * time.Millisecond):
	}
	close(first)
	close(<-slow.asked)
	close(<-slow.asked)
	for range fit + 2 {
		if _, _, err := c.readFrame(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDrain: when the server stops, what was accepted is answered.
func TestDrain(t *testing.T) {
	ts, slow := slowServer(t, Options{})
	c := ts.dial()
	req := kmsg.NewPtrApiVersionsRequest()
	id := c.send(req)
	release := <-slow.asked
	ts.stop()
	close(release)
	c.receive(req, id)
	c.wantClosed()
	<-ts.done
}

// TestDrainEnds: an answer that does not come does not hold up the stop for ever.
func TestDrainEnds(t *testing.T) {
	ts, slow := slowServer(t, Options{Limits: Limits{Drain: 10 * time.Millisecond}})
	c := ts.dial()
	c.send(kmsg.NewPtrApiVersionsRequest())
	<-slow.asked
	ts.stop()
	c.wantClosed()
	<-ts.done
}

// TestHangup: nobody waits for the answers of a client that has gone.
func TestHangup(t *testing.T) {
	ts, slow := slowServer(t, Options{})
	c := ts.dial()
	c.send(kmsg.NewPtrApiVersionsRequest())
	<-slow.asked
	c.nc.Close()
	eventually(t, func() bool { return ts.Stats().Connections.Load() == 0 })
}

// TestPanic: a defect in one request costs its connection and nothing else.
func TestPanic(t *testing.T) {
	ts := startServer(t, Options{})
	broken := func(*Server, *request) answer { panic("oops") }
	ts.apis[60].handle = broken
	ts.apis[46].handle = func(*Server, *request) answer {
		return later(func(context.Context) kmsg.Response { panic("oops") })
	}
	for _, req := range []kmsg.Request{
		kmsg.NewPtrDescribeClusterRequest(), kmsg.NewPtrListPartitionReassignmentsRequest(),
	} {
		c := ts.dial()
		c.send(req)
		c.wantClosed()
	}
	ask[*kmsg.ApiVersionsResponse](ts.dial(), kmsg.NewPtrApiVersionsRequest())
	if n := ts.o.Budget.InUse(); n != 0 {
		t.Errorf("%d bytes of the budget are still in use", n)
	}
}

// eventually waits for a condition that no channel announces.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}
