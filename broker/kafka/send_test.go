package kafka

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// tcpPair returns both ends of a TCP connection.
func tcpPair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if here, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func pipePair(*testing.T) (here, there net.Conn) { return net.Pipe() }

// newFile makes a file of n random bytes.
func newFile(t *testing.T, n int) (vfs.File, []byte) {
	t.Helper()
	f, err := vfs.OS{}.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return f, b
}

// TestSendRange: ranges of every size arrive as they are stored, by sendfile and by copying, between other bytes.
func TestSendRange(t *testing.T) {
	sizes := []int64{1, minSendfile - 1, minSendfile, bufferSize, bufferSize + 1, 3*maxSendfile + 5}
	for name, pair := range map[string]func(*testing.T) (net.Conn, net.Conn){"tcp": tcpPair, "pipe": pipePair} {
		for _, size := range sizes {
			here, there := pair(t)
			var sent atomic.Int64
			s := newSender(there, time.Minute, &sent)
			file, b := newFile(t, int(size)+20)
			failed := make(chan error, 1)
			go func() {
				w := bufio.NewWriterSize(s, bufferSize)
				w.WriteString("head")
				err := s.sendRange(w, log.Range{File: file, Position: 10, Length: size})
				w.WriteString("tail")
				failed <- errors.Join(err, w.Flush(), there.Close())
			}()
			got, _ := io.ReadAll(here)
			if err := <-failed; err != nil {
				t.Fatalf("%s, %d bytes: %v", name, size, err)
			}
			want := append(append([]byte("head"), b[10:10+size]...), "tail"...)
			if !bytes.Equal(got, want) || sent.Load() != int64(len(want)) {
				t.Errorf("%s, %d bytes: got %d bytes, counted %d, want %d", name, size, len(got), sent.Load(), len(want))
			}
		}
	}
}

// TestSendCut: a file that is shorter than promised ends the connection, by either way of sending.
func TestSendCut(t *testing.T) {
	for _, size := range []int64{100, 2 * maxSendfile} {
		here, there := tcpPair(t)
		s := newSender(there, time.Minute, new(atomic.Int64))
		file, _ := newFile(t, int(size))
		go io.Copy(io.Discard, here)
		err := s.sendRange(bufio.NewWriterSize(s, bufferSize), log.Range{File: file, Length: size + 1})
		if !errors.Is(err, errCut) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestSendToSleeper: a client that takes nothing is given up after a while.
func TestSendToSleeper(t *testing.T) {
	_, there := tcpPair(t)
	s := newSender(there, 20*time.Millisecond, new(atomic.Int64))
	file, _ := newFile(t, 32<<20)
	err := s.sendRange(bufio.NewWriterSize(s, bufferSize), log.Range{File: file, Length: 32 << 20})
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
}

// TestSendFromMemory: files that are not in the kernel are copied.
func TestSendFromMemory(t *testing.T) {
	here, there := tcpPair(t)
	s := newSender(there, time.Minute, new(atomic.Int64))
	fs := memfs.New()
	fs.MkdirAll("d")
	file, err := fs.Create("d/f")
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789"), 50_000)
	file.WriteAt(want, 0)
	go func() {
		w := bufio.NewWriterSize(s, bufferSize)
		s.sendRange(w, log.Range{File: file, Length: int64(len(want))})
		w.Flush()
		there.Close()
	}()
	if got, _ := io.ReadAll(here); !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}
