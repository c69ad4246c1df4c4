package tests

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// C21: clients of other protocols, broken ones and scanners speak to the Kafka port. They are closed at once, memory
// stays flat, working clients do not notice, and the log says what it looked like.
func TestC21GarbageOnThePort(t *testing.T) {
	const topic, clients = "c21", 200
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, topic, 1, nil)
	ledger := harness.NewLedger()
	publish(t, cl, ledger, newMaker(23).records(topic, 0, 1, 100)...)
	before := resident(t, s)
	finish := publishMeanwhile(t, cl, ledger, topic)

	inputs := []struct {
		name  string
		bytes []byte
		looks string // in the log
	}{
		{"tls", tlsHello(), "TLS"},
		{"http", []byte("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP"},
		{"http-post", []byte("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP"},
		{"length-largest", []byte{0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 1}, ""},
		{"length-zero", []byte{0, 0, 0, 0}, ""},
		{"length-minus-one", []byte{0xff, 0xff, 0xff, 0xff}, ""},
		{"text", []byte("hello, is there anybody out there?\n"), ""},
		{"unknown-key", frame([]byte{0x03, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff}), ""},
		{"huge-array", frame(append(header(3, 1, 7), 0x77, 0x35, 0x94, 0x00)), ""},
		{"huge-string", frame([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 'a'}), ""},
		{"body-cut-off", frame(header(0, 9, 1)), ""},
	}
	for _, in := range inputs {
		t.Run(in.name, func(t *testing.T) {
			closed := sendToAll(t, s, clients, in.bytes)
			if closed != clients {
				t.Errorf("%d of %d connections were closed", closed, clients)
			}
			if in.looks != "" && !strings.Contains(s.Log(), in.looks) {
				t.Errorf("the log does not say that it looks like %s", in.looks)
			}
		})
	}
	t.Run("frame-never-completed", func(t *testing.T) { halfFrames(t, s, clients) })

	slowest := finish()
	t.Logf("memory: %d MiB before, %d MiB after; slowest answer meanwhile: %s", before>>20, resident(t, s)>>20, slowest)
	if grown := resident(t, s) - before; grown > 100<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if slowest > 5*time.Second {
		t.Errorf("a working client waited %s", slowest)
	}
	verify(t, s, ledger, topic)
}

// C21: a client sends a valid request, one byte a second. It is cut off after a limit.
func TestC21OneByteASecond(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	began := time.Now()
	conn := dial(t, s).Conn
	req := frame(append(header(3, 1, 7), make([]byte, 200)...))
	for _, b := range req {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Logf("cut off after %s", time.Since(began).Round(time.Second))
			return
		}
		time.Sleep(time.Second) // what this client does
		if time.Since(began) > 45*time.Second {
			t.Fatal("still connected after 45 seconds")
		}
	}
}

// publishMeanwhile produces one record after the other until finish is called, which returns the longest wait.
func publishMeanwhile(t *testing.T, cl *kgo.Client, ledger *harness.Ledger, topic string) (finish func() time.Duration) {
	var (
		group   sync.WaitGroup
		done    atomic.Bool
		slowest time.Duration
	)
	m := newMaker(24)
	group.Go(func() {
		for !done.Load() {
			began := time.Now()
			result := cl.ProduceSync(t.Context(), m.records(topic, 0, 1, 100)...)
			if err := result.FirstErr(); err != nil {
				t.Errorf("a working client got: %v", err)
				return
			}
			if err := ledger.Ack(result[0].Record); err != nil {
				t.Error(err)
			}
			slowest = max(slowest, time.Since(began))
		}
	})
	return func() time.Duration {
		done.Store(true)
		group.Wait()
		return slowest
	}
}

// sendToAll sends the same bytes on n connections at once and counts those that the broker then closes without an
// answer.
func sendToAll(t *testing.T, s *harness.Server, n int, b []byte) int {
	t.Helper()
	var closed atomic.Int32
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			conn, err := net.Dial("tcp", s.Kafka)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := conn.Write(b); err != nil {
				closed.Add(1)
				return
			}
			answer, err := io.ReadAll(conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/") {
				t.Errorf("%d bytes of answer to garbage", len(answer))
			}
			closed.Add(1)
		})
	}
	group.Wait()
	return int(closed.Load())
}

// halfFrames leaves connections in the middle of a large frame: they hold no memory that others need.
func halfFrames(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	for _, conn := range connections(t, s, n) {
		half := binary.BigEndian.AppendUint32(nil, 50<<20)
		half = append(half, header(0, 9, 1)...)
		if _, err := conn.Write(half); err != nil {
			t.Fatal(err)
		}
	}
	w := dial(t, s)
	w.ask(t, 3, apiVersions())
}

func apiVersions() kmsg.Request {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "tests", "1"
	return req
}

// frame puts the length before a request.
func frame(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

// header is a request header without a client id.
func header(key, version int16, correlation int32) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(b, 0xff, 0xff)
}

// tlsHello is the beginning of a TLS 1.2 handshake: record header, handshake header, version, random.
func tlsHello() []byte {
	return append([]byte{0x16, 0x03, 0x01, 0x00, 0xc8, 0x01, 0x00, 0x00, 0xc4, 0x03, 0x03}, make([]byte, 194)...)
}
