package kafka

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
)

// conn is one client. The reader and the writer goroutine share queue and inFlight; each other field belongs to one.
type conn struct {
	s        *Server
	nc       net.Conn
	log      zerolog.Logger
	in       *bufio.Reader       // reader
	out      *sender             // writer
	scratch  []byte              // writer: memory for small answers
	queue    chan *request       // accepted requests, in order
	inFlight *semaphore.Weighted // bytes accepted and not yet answered
	waiting  atomic.Int64        // requests accepted and not yet answered
	served   bool                // reader: a request has been taken
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{
		s:        s,
		nc:       nc,
		log:      s.log.With().Str("peer", nc.RemoteAddr().String()).Logger(),
		in:       bufio.NewReader(nc),
		out:      newSender(nc, s.o.Limits.Send, &s.stats.BytesOut),
		queue:    make(chan *request, s.o.Limits.InFlightRequests),
		inFlight: semaphore.NewWeighted(s.o.Limits.InFlightBytes),
	}
}

// serve runs the reader here and the writer beside it. accept is done when no more requests are to be taken; alive,
// which the answers see, when there is nobody left to answer.
func (c *conn) serve(accept context.Context) error {
	defer c.nc.Close()
	alive, kill := context.WithCancel(context.WithoutCancel(accept))
	defer kill()
	defer context.AfterFunc(accept, func() { c.nc.SetReadDeadline(time.Unix(1, 0)) })()
	defer context.AfterFunc(alive, func() { c.nc.Close() })()

	written := make(chan error, 1)
	go func() {
		err := c.write(alive)
		if err != nil {
			kill()
		}
		written <- err
	}()
	err := c.read(accept, alive)
	if accept.Err() == nil {
		kill() // the client is gone or broke the protocol: nobody waits for the rest
	} else {
		err = nil
		defer time.AfterFunc(c.s.o.Limits.Drain, kill).Stop()
	}
	close(c.queue)
	return c.report(err, <-written)
}

// report logs why the connection ended, unless that is nobody's concern: the client hung up, or we stop.
func (c *conn) report(read, written error) error {
	var fault error
	switch {
	case read != nil && errors.Is(read, errRefused):
		c.s.stats.Refused.Add(1)
		c.log.Warn().Err(read).Msg("closed a connection: its bytes are not a request that this broker understands")
		fault = read
	case written != nil && !hangup(written):
		c.log.Warn().Err(written).Msg("closed a connection: a request could not be answered")
		fault = written
	case read != nil && !hangup(read):
		c.log.Info().Err(read).Msg("closed a connection")
		fault = read
	default:
		c.log.Debug().AnErr("err", errors.Join(read, written)).Msg("connection ended")
	}
	return fault
}

// hangup says that err is a way for a client to go away.
func hangup(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, context.Canceled) || errors.Is(err, errIdle) ||
		errors.As(err, &op) && !op.Timeout()
}

// errIdle ends a connection that had nothing to say for too long.
var errIdle = errors.New("kafka: connection is idle")

// read takes requests until the connection ends, and hands them to the writer together with their answers.
func (c *conn) read(accept, alive context.Context) error {
	for {
		if err := c.awaitFrame(accept); err != nil {
			return err
		}
		r, err := c.readRequest(accept)
		if err != nil {
			return err
		}
		c.served = true
		c.waiting.Add(1)
		select {
		case c.queue <- r:
		case <-alive.Done():
			return alive.Err()
		}
	}
}

// handle decodes a frame and runs the ordered stage of its request.
func (c *conn) handle(r *request, frame []byte) error {
	if r.api.key == keyApiVersions && (r.version < 0 || r.version > r.api.max) {
		r.correlation = int32(binary.BigEndian.Uint32(frame))
		r.answer = c.s.unsupportedApiVersions(r)
		return nil
	}
	if err := r.decode(frame); err != nil {
		return err
	}
	return c.guard(r, func() error {
		r.answer = r.api.handle(c.s, r)
		return nil
	})
}

// write sends the answers in order.
func (c *conn) write(alive context.Context) error {
	for r := range c.queue {
		if err := c.guard(r, func() error { return c.send(alive, r) }); err != nil {
			r.api.failed.Add(1)
			return fmt.Errorf("answer %s: %w", r.api.name, err)
		}
		r.api.count.Add(1)
		r.api.nanos.Add(int64(time.Since(r.arrived)))
		c.waiting.Add(-1)
		c.inFlight.Release(r.cost)
	}
	return nil
}

func (c *conn) send(alive context.Context, r *request) error {
	reply, err := r.answer(alive)
	if err != nil || reply == nil {
		return err
	}
	return reply.send(c, r)
}

// guard is the last resort against a defect of ours in one request: it costs the connection, not the process.
func (c *conn) guard(r *request, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error().Interface("panic", p).Str("request", r.api.name).Bytes("stack", debug.Stack()).
				Msg("a request failed inside the broker; its connection is closed, the others go on: please report this")
			err = fmt.Errorf("kafka: panic in %s: %v", r.api.name, p)
		}
	}()
	return f()
}
