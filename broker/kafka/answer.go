package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// handler is the ordered stage of one request. The connection's reader calls it, one request after the other, so it
// must not wait for anything but the disk: whatever may take long belongs into the answer.
//
// Byte slices of r.body point into the request's frame, which is given back when the handler returns: what must outlive
// it is copied. Strings are copies already.
type handler func(s *Server, r *request) answer

// answer yields a request's response. The connection's writer calls it once, when all earlier answers are sent. It may
// wait until ctx is done, which means that the client is gone or that draining has taken too long; an answer that waits
// for something to happen (not for the disk) also ends its wait when r.accepting is done. An error closes the connection
// without a response. A nil reply sends nothing.
type answer func(ctx context.Context) (reply, error)

// reply is a response ready to be sent.
type reply interface {
	// send writes the whole frame and lets go of what the reply holds.
	send(c *conn, r *request) error
}

// ready is the answer of a request that is already done.
func ready(resp kmsg.Response) answer {
	return func(context.Context) (reply, error) { return message{resp}, nil }
}

// later is an answer that f computes when its turn has come.
func later(f func(ctx context.Context) kmsg.Response) answer {
	return func(ctx context.Context) (reply, error) { return message{f(ctx)}, nil }
}

// message is a reply encoded by kmsg.
type message struct{ kmsg.Response }

func (m message) send(c *conn, r *request) error {
	b := r.appendHeader(c.scratch[:0])
	b = finishFrame(m.AppendTo(b))
	if cap(b) <= maxScratch {
		c.scratch = b
	}
	_, err := c.out.Write(b)
	return err
}
