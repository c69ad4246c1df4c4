package nats

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"brokerd/broker/nats/wire"
)

// conn is one client. Its reader goroutine does what the client says; its writer goroutine sends what is queued in out.
type conn struct {
	s     *Server
	id    uint64
	nc    net.Conn // the encrypted one after secure; only for the reader and the writer
	log   zerolog.Logger
	began time.Time
	nonce string // for the client to sign; "" for none

	local, remote net.Addr

	in     *wire.Reader
	out    *outbound
	caller *caller

	replies  replies
	inFlight *semaphore.Weighted // bytes of messages on their way into streams
	pulse    pulse
	session  atomic.Pointer[session] // replaced by the reader; nil before somebody is let in

	// The reader's own.
	pass       pass
	targets    targets
	introduced bool            // INFO was sent
	greeted    bool            // the first PONG was sent
	accept     context.Context // done when nothing more is to be taken
	alive      context.Context // done when there is nobody left

	received counters

	mu   sync.Mutex
	subs map[string]*subscription // guarded by mu: by sid
}

// session is a client as it introduced itself.
type session struct {
	options connectOptions
	user    *user
}

// What ends a connection, besides errors of wire and of the network.
var (
	errSlow     = errors.New("nats: the client does not read what it is sent")
	errStale    = errors.New("nats: the client does not answer")
	errShutdown = errors.New("nats: the broker stops")
	errNoLogin  = errors.New("nats: the client did not log in")
	errProtocol = errors.New("nats: the client broke the protocol")
)

// lastWords is how long a client may take to read why its connection ends.
const lastWords = time.Second

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		s: s, nc: nc, began: time.Now(), nonce: s.logins.nonce(), local: nc.LocalAddr(), remote: nc.RemoteAddr(),
		log:      s.log.With().Str("peer", nc.RemoteAddr().String()).Logger(),
		out:      newOutbound(s.o.Limits, &s.buffers),
		inFlight: semaphore.NewWeighted(s.o.Limits.InFlight),
		subs:     map[string]*subscription{},
	}
	c.in = wire.NewReader(c, wire.Limits{Line: int(s.o.Limits.MaxControlLine), Payload: int(s.o.Limits.MaxPayload)})
	c.pulse.seen()
	if u, ok := s.logins.anonymous(); ok {
		c.session.Store(&session{options: introduction(), user: u})
	} else {
		c.in.ConnectFirst = true
	}
	return c
}

// serve runs the reader here and the writer beside it.
func (c *conn) serve(accept context.Context) error {
	raw := c.nc
	defer raw.Close()
	if err := c.secure(accept); err != nil {
		return err
	}
	alive, kill := context.WithCancelCause(context.WithoutCancel(accept))
	defer kill(nil)
	c.accept, c.alive, c.out.kill = accept, alive, kill
	c.caller = newCaller(alive, c)
	defer context.AfterFunc(accept, func() { c.nc.SetReadDeadline(time.Unix(1, 0)) })()
	defer context.AfterFunc(alive, func() { c.nc.Close() })()

	written := make(chan error, 1)
	go func() {
		err := c.write(alive)
		if err != nil {
			kill(err)
		}
		written <- err
	}()
	if !c.introduced {
		c.say(wire.AppendInfo(nil, c.info(false)))
	}
	err := c.read()
	patience := lastWords
	switch {
	case accept.Err() != nil && alive.Err() == nil:
		err, patience = errShutdown, c.s.o.Limits.Drain
		defer time.AfterFunc(patience, func() { kill(err) }).Stop()
		_ = c.inFlight.Acquire(alive, c.s.o.Limits.InFlight) // what is on its way into streams is acknowledged first
	case gone(err):
		kill(err)
	default:
		defer time.AfterFunc(patience, func() { kill(err) }).Stop()
	}
	c.leave(err)
	err = c.report(err, <-written)
	kill(err)
	c.caller.wait()
	c.wakeConsumers(c.out.close())
	return err
}

// leave ends what the reader began, with a last word for the client.
func (c *conn) leave(err error) {
	c.unsubscribeAll()
	if answer := wire.Answer(err); answer != "" {
		c.sayError(answer)
	}
	c.pass.end()
	c.out.end(nil)
}

// gone says that there is nobody to tell why the connection ends.
func gone(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.As(err, &op)
}

// report logs why the connection ended, unless that is nobody's concern, and returns it then.
func (c *conn) report(read, written error) error {
	switch blame := c.out.why(); {
	case errors.Is(blame, errSlow):
		c.log.Warn().Int64("limit", c.s.o.Limits.MaxPending).Str("client", c.session.Load().name()).
			Msg("closed a slow consumer: more waited for it than nats.max_pending allows, or it took nothing for " +
				"nats.write_deadline. What waited is lost to it, except what streams keep; let it read faster, or subscribe to less")
		return blame
	case blame != nil:
		read = blame
	case read == errShutdown || gone(read):
		c.log.Debug().AnErr("err", errors.Join(read, written)).Msg("connection ended")
		return nil
	}
	c.log.Info().Err(read).Str("client", c.session.Load().name()).Msg("closed a connection")
	return read
}

// read does what the client says, until the connection ends.
func (c *conn) read() (err error) {
	defer func() {
		// The last resort against a defect of ours: it costs the connection, not the process.
		if p := recover(); p != nil {
			c.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).
				Msg("a client's command failed inside the broker; its connection is closed, the others go on: please report this")
			err = errProtocol
		}
	}()
	if c.in.ConnectFirst {
		if err := c.nc.SetReadDeadline(c.began.Add(c.s.o.Auth.Timeout)); err != nil {
			return err
		}
	}
	for c.accept.Err() == nil {
		command, err := c.in.Next()
		if err != nil {
			return c.explain(err)
		}
		if err := c.do(&command); err != nil {
			return err
		}
	}
	return c.accept.Err()
}

// explain finds what is behind a failed read.
func (c *conn) explain(err error) error {
	if c.in.ConnectFirst && errors.Is(err, os.ErrDeadlineExceeded) {
		c.sayError("Authentication Timeout")
		return errNoLogin
	}
	return err
}

// do does one command.
func (c *conn) do(command *wire.Command) error {
	switch command.Verb {
	case wire.Publish:
		return c.publish(command)
	case wire.Subscribe:
		return c.subscribe(command)
	case wire.Unsubscribe:
		c.unsubscribe(command)
	case wire.Connect:
		return c.connect(command.Options)
	case wire.Ping:
		c.pong()
	case wire.Pong:
		c.pulse.answered()
	}
	return nil
}

// pong answers a PING: everything that came before it is done. The first one ends the introduction, and only then may
// anything come that the client did not ask for.
func (c *conn) pong() {
	c.say([]byte(wire.PongLine))
	if c.greeted {
		return
	}
	c.greeted = true
	c.pulse.begin()
	if s := c.session.Load(); s.options.introduced && s.options.Protocol >= 1 {
		c.say(wire.AppendInfo(nil, c.info(true)))
	}
}

// Read implements io.Reader for the parser: before it waits for the client, everybody hears what the last bytes had for
// them.
func (c *conn) Read(b []byte) (int, error) {
	c.pass.end()
	n, err := c.nc.Read(b)
	if n > 0 {
		c.pulse.seen()
	}
	return n, err
}

// say queues bytes for the client.
func (c *conn) say(b []byte) { c.out.text(b, &c.pass) }

func (c *conn) sayError(text string) { c.say(wire.AppendErr(nil, text)) }

// pass is what the bytes of one read lead to.
type pass struct {
	number  uint64
	touched []*outbound   // whose writers are to be woken
	waited  time.Duration // for slow clients
}

// end wakes the writers.
func (p *pass) end() {
	for _, o := range p.touched {
		o.wakeUp()
	}
	clear(p.touched)
	p.touched = p.touched[:0]
	p.number++
	p.waited = 0
}
