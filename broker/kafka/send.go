package kafka

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brokerd/log"
	"brokerd/log/vfs"
)

const (
	// minSendfile is the size from which records are worth a sendfile of their own. Smaller ones are read into the
	// buffer and leave together with the bytes around them.
	minSendfile = 64 << 10
	// maxSendfile bounds one call, so that a slow client is seen to make progress.
	maxSendfile = 1 << 20
)

// errCut is the end of a connection: the size of an answer has been sent, but the file is shorter.
var errCut = errors.New("kafka: the file ends before the records that were to be sent")

// sender writes to a client, which may be slow but must keep taking bytes.
type sender struct {
	nc       net.Conn
	raw      syscall.RawConn // of a plain TCP connection, else nil
	patience time.Duration   // for one write
	sent     *atomic.Int64
}

func newSender(nc net.Conn, patience time.Duration, sent *atomic.Int64) *sender {
	s := &sender{nc: nc, patience: patience, sent: sent}
	if tcp, ok := nc.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	return s
}

// Write implements io.Writer.
func (s *sender) Write(b []byte) (int, error) {
	if err := s.nc.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return 0, err
	}
	n, err := s.nc.Write(b)
	s.sent.Add(int64(n))
	return n, err
}

// sendRange sends records after what is in w, whose destination is s: by sendfile where that is possible and pays,
// else through w.
func (s *sender) sendRange(w *bufio.Writer, r log.Range) error {
	at, end := r.Position, r.Position+r.Length
	if file, ok := r.File.(vfs.FD); ok && s.raw != nil && r.Length >= minSendfile {
		if err := w.Flush(); err != nil {
			return err
		}
		n, err := s.sendFile(int(file.Fd()), at, r.Length)
		if at += n; err != nil && !(n == 0 && notPossible(err)) {
			return err
		}
	}
	return copyRange(w, r.File, at, end)
}

// notPossible says that this kind of file cannot be sent by sendfile.
func notPossible(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

// copyRange reads the bytes from at to end into w.
func copyRange(w *bufio.Writer, file io.ReaderAt, at, end int64) error {
	for at < end {
		if w.Available() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		b := w.AvailableBuffer()
		b = b[:min(int64(cap(b)), end-at)]
		n, err := file.ReadAt(b, at)
		if n < len(b) {
			if err == nil || errors.Is(err, io.EOF) {
				err = errCut
			}
			return fmt.Errorf("read records at byte %d: %w", at+int64(n), err)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// sendFile sends n bytes of the file fd from at on, and returns how many were sent. The offset is explicit: any number
// of connections may send the same open file.
func (s *sender) sendFile(fd int, at, n int64) (done int64, err error) {
	for done < n {
		if err := s.nc.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
			return done, err
		}
		var sent int
		var failed error
		err := s.raw.Write(func(socket uintptr) bool {
			offset := at + done
			for {
				sent, failed = unix.Sendfile(int(socket), fd, &offset, int(min(n-done, maxSendfile)))
				if failed != unix.EINTR {
					return failed != unix.EAGAIN // false: wait until the socket takes more
				}
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return done, fmt.Errorf("send records at byte %d: %w", at+done, err)
		}
		if sent == 0 {
			return done, errCut
		}
		done += int64(sent)
		s.sent.Add(int64(sent))
	}
	return done, nil
}
