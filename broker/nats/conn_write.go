package nats

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"brokerd/broker/nats/wire"
)

// write sends what is queued, and asks the client from time to time whether it is there, until the queue has ended.
func (c *conn) write(alive context.Context) error {
	var batch []*chunk
	var pieces net.Buffers
	tick := time.NewTicker(c.s.o.Limits.PingInterval)
	defer tick.Stop()
	for {
		var ended bool
		batch, ended = c.out.take(batch[:0])
		if len(batch) > 0 {
			pieces = pieces[:0]
			for _, piece := range batch {
				pieces = append(pieces, piece.b)
			}
			err := c.send(pieces)
			c.wakeConsumers(c.out.written(batch))
			clear(batch)
			if err != nil {
				return err
			}
			continue
		}
		if ended {
			return c.out.why()
		}
		select {
		case <-c.out.wake:
		case <-tick.C:
			c.ping()
		case <-alive.Done():
			return context.Cause(alive)
		}
	}
}

func (c *conn) send(pieces net.Buffers) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.s.o.Limits.WriteDeadline)); err != nil {
		return err
	}
	_, err := pieces.WriteTo(c.nc)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.out.end(errSlow)
	}
	return err
}

// ping asks a client that has not been heard of for a while. Before the introduction is over nothing may be asked; a client
// that takes too long for it is gone as well.
func (c *conn) ping() {
	p := &c.pulse
	if p.held.Load() || p.recent(c.s.o.Limits.PingInterval) {
		return
	}
	if p.out.Add(1) > int64(c.s.o.Limits.MaxPingsOut) {
		c.out.text(wire.AppendErr(nil, "Stale Connection"), nil)
		c.out.end(errStale)
		return
	}
	if p.begun.Load() {
		p.asked.Store(time.Now().UnixNano())
		c.out.text([]byte(wire.PingLine), nil)
	}
}

// pulse is signs of life.
type pulse struct {
	begun atomic.Bool  // the client may be asked
	held  atomic.Bool  // it is not read now, so that it cannot be heard
	last  atomic.Int64 // when it was heard, in nanoseconds of Unix time, like the next one
	asked atomic.Int64
	rtt   atomic.Int64 // time until an answer came; 0 for unknown
	out   atomic.Int64 // questions without an answer
}

func (p *pulse) begin() { p.begun.Store(true) }

// seen notes that bytes came.
func (p *pulse) seen() { p.last.Store(time.Now().UnixNano()) }

// answered notes a PONG.
func (p *pulse) answered() {
	p.out.Store(0)
	if asked := p.asked.Swap(0); asked != 0 {
		p.rtt.Store(time.Now().UnixNano() - asked)
	}
}

// hold says that the client is not read, or is again.
func (p *pulse) hold(yes bool) {
	p.held.Store(yes)
	p.seen()
}

// recent says that the client was heard of less than d ago.
func (p *pulse) recent(d time.Duration) bool { return time.Since(p.lastSeen()) < d }

func (p *pulse) lastSeen() time.Time { return time.Unix(0, p.last.Load()) }

func (p *pulse) roundTrip() time.Duration { return time.Duration(p.rtt.Load()) }
