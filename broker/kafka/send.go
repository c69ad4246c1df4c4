package kafka

import (
	"net"
	"sync/atomic"
	"time"
)

// sender writes to a client, which may be slow but must keep taking bytes.
type sender struct {
	nc       net.Conn
	patience time.Duration // for one write
	sent     *atomic.Int64
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
