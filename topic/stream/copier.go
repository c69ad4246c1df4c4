package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brokerd/topic/message"
	"brokerd/topic/subject"
)

const (
	copyMessages = 500     // that are on their way at a time
	copyBytes    = 4 << 20 // the same
	copyRetry    = time.Second
)

// copier copies a stream, or what a source takes of it, into another one.
type copier struct {
	streams    *Streams
	to         *Stream
	source     *Source
	mirror     bool
	filters    []string
	transforms []*subject.Transform

	mu     sync.Mutex
	next   uint64    // guarded by mu: the first sequence of the origin that is not copied; 0 when that is not known yet
	origin string    // guarded by mu: the identity of the stream that next is about; "" when that is not known
	copied time.Time // guarded by mu: when the last message was copied
	err    *Error    // guarded by mu: why nothing is copied
}

func newCopier(s *Streams, to *Stream, source *Source, mirror bool) *copier {
	c := &copier{streams: s, to: to, source: source, mirror: mirror}
	if source.Filter != "" {
		c.filters = []string{source.Filter}
	}
	for _, t := range source.Transforms {
		if tr, err := subject.New(t.Source, t.Destination); err == nil { // it was checked with the configuration
			c.transforms = append(c.transforms, tr)
			c.filters = append(c.filters, tr.Filter())
		}
	}
	return c
}

// run copies until ctx is done. A stream that is not there, or does not take more, is tried again.
func (c *copier) run(ctx context.Context, took func(sequence uint64)) {
	for ctx.Err() == nil {
		var err error = ErrStreamNotFound
		if origin, ok := c.streams.Get(c.source.Name); ok {
			err = c.follow(ctx, origin, took)
		}
		c.note(err)
		wait(ctx, copyRetry)
	}
}

// wait returns when ctx is done, or after d.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// note remembers why nothing is copied, and tells it once.
func (c *copier) note(err error) {
	var known *Error
	if err != nil && !errors.As(err, &known) {
		known = GeneralError(err)
	}
	c.mu.Lock()
	news := known != nil && (c.err == nil || *c.err != *known)
	c.err = known
	c.mu.Unlock()
	if news {
		c.streams.o.Logger.Warn().Err(err).Str("stream", c.to.Name()).Str("source", c.source.Name).
			Msg("A stream is not copied at present. Nothing is lost as long as the other stream keeps its messages; it is tried again.")
	}
}

// follow copies what origin has, and what comes, until ctx is done or origin is deleted.
func (c *copier) follow(ctx context.Context, origin *Stream, took func(sequence uint64)) error {
	changed := make(chan struct{}, 1)
	defer origin.Watch(changed)()
	cursor := origin.Cursor()
	defer cursor.Close()
	for {
		if err := c.locate(origin); err != nil {
			return err
		}
		n, err := c.round(ctx, origin, cursor, took)
		switch {
		case err != nil:
			return err
		case origin.Gone():
			return ErrStreamNotFound
		case n > 0:
			c.note(nil)
			continue
		}
		c.note(nil)
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// locate finds where to begin. A mirror goes on behind what it has; a source that has nothing yet begins where its
// configuration says.
func (c *copier) locate(origin *Stream) error {
	if c.mirror {
		last, err := c.to.given()
		if err != nil {
			return err
		}
		if last > 0 {
			c.setNext(last + 1)
			return behind(origin, last)
		}
	}
	c.mu.Lock()
	known := c.next > 0 && (c.origin == "" || c.origin == origin.identity())
	c.mu.Unlock()
	next := c.begins()
	if !known { // or it was made anew
		next = max(c.source.StartSeq, 1)
		if c.source.StartTime != nil {
			at, err := origin.AtTime(*c.source.StartTime)
			if err != nil {
				return err
			}
			next = at
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.origin = next, origin.identity()
	return nil
}

// behind refuses an origin that does not have what was copied of it before: it was made anew.
func behind(origin *Stream, last uint64) error {
	state, err := origin.State()
	if err == nil && state.Last < last {
		return MirrorSetupFailed(fmt.Errorf("the mirrored stream ends at sequence %d, the mirror at %d: it waits until that is exceeded", state.Last, last))
	}
	return err
}

func (c *copier) begins() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

func (c *copier) setNext(next uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
}

// resume goes on behind what is copied.
func (c *copier) resume(at position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.origin = at.Sequence+1, at.Origin
}

// position is how far it came.
func (c *copier) position() (at position, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return position{c.next - 1, c.origin}, c.next > 0
}

// round copies some messages, waits until they are durable, and says how many they were. What was not stored is copied
// again the next time.
func (c *copier) round(ctx context.Context, origin *Stream, cursor *Cursor, took func(sequence uint64)) (n int, err error) {
	var pending sync.WaitGroup
	var failed error // of those that were sent
	for next, size := c.begins(), 0; n < copyMessages && size < copyBytes && ctx.Err() == nil; n++ {
		sequence, ok := origin.Next(next, c.filters)
		if !ok {
			break
		}
		next = sequence + 1
		m, e := cursor.Get(sequence)
		if errors.Is(e, NoSequence(0)) || errors.Is(e, ErrNoMessage) {
			continue // it was removed meanwhile
		}
		if err = e; err != nil {
			break
		}
		size += len(m.Header) + len(m.Data)
		pending.Add(1)
		err = c.store(m, origin.identity(), func(r Receipt, e error) {
			defer pending.Done()
			c.mu.Lock()
			if failed == nil {
				if failed = e; e == nil {
					c.next, c.copied = next, time.Now()
				}
			}
			c.mu.Unlock()
			if e == nil {
				took(r.Sequence)
			}
		})
		if err != nil {
			pending.Done()
			break
		}
	}
	pending.Wait()
	if n > 0 && errors.Is(err, ErrTooManyRequests) {
		err = nil // there is room now
	}
	return n, errors.Join(failed, err)
}

// store puts one message into the stream, under the name that it has there.
func (c *copier) store(m message.Message, origin string, done func(Receipt, error)) error {
	from := c.source.sourceHeader(m, origin)
	for _, t := range c.transforms {
		if name, ok := t.Apply(m.Subject); ok {
			m.Subject = name
			break
		}
	}
	if c.mirror {
		return c.to.mirrorIn(m, done)
	}
	return c.to.sourceIn(m, sourced(m.Header, from), done)
}

// CopyInfo is what JetStream's API tells about a mirror or a source.
type CopyInfo struct {
	Name       string            `json:"name"`
	Lag        uint64            `json:"lag"`           // messages of the other stream that are not copied
	Sequence   uint64            `json:"seq,omitempty"` // of sources: the last one of the other stream that is
	Active     time.Duration     `json:"active"`        // nanoseconds since the last one was copied; -1 for never
	Error      *Error            `json:"error,omitempty"`
	Filter     string            `json:"filter_subject,omitempty"`
	Transforms []TransformConfig `json:"subject_transforms,omitempty"`
}

func (c *copier) info() CopyInfo {
	c.mu.Lock()
	i := CopyInfo{Name: c.source.Name, Active: -1, Error: c.err, Filter: c.source.Filter, Transforms: c.source.Transforms}
	next := c.next
	if !c.copied.IsZero() {
		i.Active = time.Since(c.copied)
	}
	if !c.mirror && next > 0 {
		i.Sequence = next - 1
	}
	c.mu.Unlock()
	if origin, ok := c.streams.Get(c.source.Name); ok && next > 0 {
		i.Lag = origin.Pending(next, c.filters)
	}
	return i
}
