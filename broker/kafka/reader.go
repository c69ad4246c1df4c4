package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"time"
)

// stretch is how much of a frame has to come within Limits.Frame; frames above it are large.
const stretch = 1 << 20

// awaitFrame returns when the first byte of a frame is here. A connection on which an answer is still due is not idle.
func (c *conn) awaitFrame(accept context.Context) error {
	for {
		patience := c.s.o.Limits.Idle
		if !c.served {
			patience = c.s.o.Limits.FirstRequest
		}
		if err := c.readBefore(accept, patience); err != nil {
			return err
		}
		_, err := c.in.Peek(1)
		if err == nil {
			return nil
		}
		if accept.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if c.waiting.Load() == 0 {
			return errIdle
		}
	}
}

// readBefore sets the deadline of the following reads. When accept is done, it is in the past and stays there.
func (c *conn) readBefore(accept context.Context, patience time.Duration) error {
	if err := c.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return accept.Err()
}

// readRequest reads one frame, decodes it and runs its handler.
func (c *conn) readRequest(accept context.Context) (*request, error) {
	p, a, err := c.readPrelude(accept)
	if err != nil {
		return nil, err
	}
	size := int(p.size) - (preludeSize - 4)
	r := &request{conn: c, api: a, version: p.version, arrived: time.Now(), accepting: accept}
	r.cost = min(int64(p.size), c.s.o.Limits.InFlightBytes)
	if err := c.inFlight.Acquire(accept, r.cost); err != nil {
		return nil, err
	}
	frame, giveBack, err := c.readBody(accept, size)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	c.s.stats.BytesIn.Add(int64(p.size) + 4)
	return r, c.handle(r, frame)
}

// readBody takes memory for size bytes, the rest of a frame, and reads them. giveBack returns the memory.
//
// Announcing a frame must not be enough to keep memory from others. So its first bytes have to be here before any is
// taken, every stretch has to come in time, and large frames share half of the budget: whatever happens to them, small
// ones find room.
func (c *conn) readBody(accept context.Context, size int) (frame []byte, giveBack func(), err error) {
	if err := c.readBefore(accept, c.s.o.Limits.Frame); err != nil {
		return nil, nil, err
	}
	if first, err := c.in.Peek(min(size, c.in.Size())); err != nil {
		return nil, nil, incomplete(err, len(first), size)
	}
	large := int64(0)
	if size > stretch {
		large = min(int64(1)<<bits.Len(uint(size-1)), c.s.largeLimit()) // as the budget rounds it up
		if err := c.s.large.Acquire(accept, large); err != nil {
			return nil, nil, err
		}
	}
	buffer, err := c.s.o.Budget.Get(accept, size)
	if err != nil {
		c.s.large.Release(large)
		return nil, nil, fmt.Errorf("take memory for a frame of %d bytes: %w", size, err)
	}
	giveBack = func() { buffer.Release(); c.s.large.Release(large) }
	for at := 0; at < size; {
		if err = c.readBefore(accept, c.s.o.Limits.Frame); err != nil {
			break
		}
		n, failed := io.ReadFull(c.in, buffer.B[at:min(at+stretch, size)])
		if at += n; failed != nil {
			err = incomplete(failed, at, size)
			break
		}
	}
	if err != nil {
		giveBack()
		return nil, nil, err
	}
	return buffer.B, giveBack, nil
}

// readPrelude reads the start of a frame and refuses what cannot be a request, before memory is taken for it.
func (c *conn) readPrelude(accept context.Context) (p prelude, a *api, err error) {
	if err := c.readBefore(accept, c.s.o.Limits.Frame); err != nil {
		return p, nil, err
	}
	var b [preludeSize]byte
	if n, err := io.ReadFull(c.in, b[:4]); err != nil {
		return p, nil, incomplete(err, n, 4)
	}
	if err := checkSize(b[:4], c.s.o.Limits.MaxFrame); err != nil {
		return p, nil, err
	}
	if n, err := io.ReadFull(c.in, b[4:]); err != nil {
		return p, nil, incomplete(err, n, 4)
	}
	p.size = int32(binary.BigEndian.Uint32(b[:]))
	p.key = int16(binary.BigEndian.Uint16(b[4:]))
	p.version = int16(binary.BigEndian.Uint16(b[6:]))
	a, err = c.s.lookup(p)
	return p, a, err
}

// lookup finds who serves a request. ApiVersions is served in every version: a client that is newer than we are learns
// from its answer what to ask instead (KIP-511).
func (s *Server) lookup(p prelude) (*api, error) {
	if p.key < 0 || p.key > maxKey || s.apis[p.key] == nil {
		return nil, refuse("a request of key %d, version %d, which is not served", p.key, p.version)
	}
	a := s.apis[p.key]
	if p.key != keyApiVersions && (p.version < a.min || p.version > a.max) {
		return nil, refuse("%s version %d, but %d to %d are served", a.name, p.version, a.min, a.max)
	}
	if p.key != keyProduce && p.size > maxDecoded {
		return nil, refuse("a %s request of %d bytes, more than %d", a.name, p.size, maxDecoded)
	}
	return a, nil
}

func incomplete(err error, n, size int) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse("a frame that came too slowly: %d of %d bytes", n, size)
	}
	return err
}
