package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"brokerd/broker/nats/route"
	"brokerd/broker/nats/wire"
	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// speaksLike is the version told to clients, who choose by it what to use. It is the nats-server whose features are here,
// those of API level 2; the name of this server says what it is.
const speaksLike = "2.12.9"

// Server serves NATS clients. It is made with New.
type Server struct {
	o        Options
	log      zerolog.Logger
	who      identity
	logins   *logins
	table    route.Table[*subscription]
	buffers  buffers
	began    time.Time
	services services
	streams  *stream.Streams // nil without JetStream
	inFlight atomic.Int64    // bytes on their way into streams

	mu     sync.Mutex
	conns  map[uint64]*conn // guarded by mu, like all below
	lastID uint64
	gone   totals // of connections that are no more
	slow   int64
}

// New makes a server without JetStream. Errors: users that cannot be.
func New(o Options) (*Server, error) {
	o.Limits, o.Auth = o.Limits.withDefaults(), o.Auth.withDefaults()
	o.TLS.Timeout = or(o.TLS.Timeout, 2*time.Second)
	l, err := newLogins(o.Auth)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	s := &Server{
		o: o, log: o.Logger, logins: l, began: time.Now(), conns: map[uint64]*conn{},
		who:     identity{name: o.ServerName, id: o.ServerID, version: speaksLike, host: host, domain: o.Domain},
		buffers: newBuffers(),
	}
	s.services.system = &system{door: outlet{s}, server: s.who, limits: s.o.Limits, monitor: s}
	return s, nil
}

// Outlet is where consumers send.
func (s *Server) Outlet() durable.Outlet { return outlet{s} }

// Publish publishes for the broker, to whoever listens, and into the stream that has the subject. It does not wait.
func (s *Server) Publish(subject, reply string, header, data []byte) {
	s.broadcast(&publication{subject: []byte(subject), reply: []byte(reply), header: header, data: data}, subject)
}

// Attach adds JetStream, before the first connection is served.
func (s *Server) Attach(streams *stream.Streams, consumers *durable.Consumers) {
	s.streams = streams
	s.services.api = newAPI(streams, consumers, outlet{s}, s.who, s.log)
	s.services.system.api = s.services.api
}

// Advise publishes an advisory about a stream, if anybody wants it (stream.Options.Advise). It needs Attach to have been
// called, and does not wait.
func (s *Server) Advise(kind, name string, advisory any) { s.services.api.tell(kind, name, advisory) }

// ServeConn serves one client until it goes away, breaks the protocol, or ctx is done: then it takes nothing more from it,
// and waits for what is under way. It closes nc. Its error has been logged.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	c := newConn(s, nc)
	if !s.add(c) {
		c.log.Warn().Int("limit", s.o.Limits.MaxConnections).
			Msg("closed a new connection: as many are open as nats.max_connections allows; the open ones are served")
		return c.refuse("maximum connections exceeded")
	}
	defer s.remove(c)
	return c.serve(ctx)
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	c.id = s.lastID
	if most := s.o.Limits.MaxConnections; most > 0 && len(s.conns) >= most {
		return false
	}
	s.conns[c.id] = c
	return true
}

func (s *Server) remove(c *conn) {
	done, slow := c.totals(), errors.Is(c.out.why(), errSlow)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.id)
	s.gone.add(done)
	if slow {
		s.slow++
	}
}

// refuse tells a client why it is not served, and closes the connection.
func (c *conn) refuse(why string) error {
	defer c.nc.Close()
	if err := c.nc.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	greeting := wire.AppendErr(wire.AppendInfo(nil, c.info(false)), why)
	if _, err := c.nc.Write(greeting); err != nil {
		return err
	}
	return fmt.Errorf("nats: %s", why)
}
