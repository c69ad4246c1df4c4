package durable

import (
	"context"
	"errors"
	"time"

	"brokerd/topic/message"
	"brokerd/topic/stream"
)

const (
	recountEach = 64                   // deliveries in a row, after which what is left is counted again if the stream changed
	tickEach    = 5 * time.Millisecond // of delivering without a pause, until deadlines are looked at
	retryEach   = time.Second          // after the stream could not be read
	keepCursor  = 5 * time.Second      // after the last delivery: then its memory goes
	noDeadline  = 24 * time.Hour
)

// reader is what the loop of a consumer knows of its stream, and of its own work.
type reader struct {
	*Consumer
	cursor   *stream.Cursor // nil while nothing is read
	stale    bool           // the stream changed since the messages were counted
	left     uint64         // messages that the consumer was not given
	served   int            // deliveries since they were counted
	ticked   time.Time      // when deadlines were last looked at
	lastRead time.Time      // when a message was last delivered
	failed   bool           // the stream could not be read
}

// run delivers until the consumer is deleted, or ctx is done.
func (c *Consumer) run(ctx context.Context) {
	r := &reader{Consumer: c, stale: true}
	defer c.stream.Watch(c.changed)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		r.burst(ctx)
		wait, gone := r.idle()
		if gone {
			return
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-c.wake:
		case <-c.heard:
		case <-c.changed:
			r.stale = true
		case <-ctx.Done():
		}
	}
	c.shutDown()
}

// burst delivers until nothing more can be delivered now.
func (r *reader) burst(ctx context.Context) {
	r.failed, r.ticked = false, time.Time{}
	for ctx.Err() == nil && !r.failed {
		w, ok, undecided := r.wants()
		r.release()
		if !ok && !undecided || !r.ready() {
			return
		}
		if !ok {
			continue
		}
		m, found := r.read(w)
		if found == nothing || found == something && !r.offer(w, m) {
			return
		}
	}
}

// wants is the message to deliver next, after what is due was done, and whether there are requests to decide about.
func (r *reader) wants() (w wanted, ok, undecided bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return w, false, false
	}
	select { // under the lock: whoever moves the consumer says so before somebody can ask for a message from there
	case <-r.changed:
		r.stale = true
	default:
	}
	now := time.Now()
	if now.Sub(r.ticked) >= tickEach {
		r.tick(now)
	}
	w, ok = r.machine.wants(now)
	return w, ok, r.machine.undecided()
}

// tick is called with r.mu held.
func (r *reader) tick(now time.Time) {
	r.ticked = now
	r.machine.tick(now, r.all.outlet)
	r.performAll(nil)
	r.saveSoon(now)
}

// ready counts the messages that are left, if that has to be, and decides about requests that do not wait. False when the
// stream cannot be read.
func (r *reader) ready() bool {
	if r.stale && (r.served == 0 || r.served >= recountEach || r.left == 0) {
		if err := r.recount(); err != nil {
			r.complain(err)
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machine.undecided() {
		r.machine.judge(r.left, time.Now())
		r.performAll(nil)
	}
	return true
}

func (r *reader) recount() error {
	r.stale = false
	state, err := r.stream.State()
	if err == nil {
		err = r.place()
	}
	if err != nil {
		r.stale = true
		return err
	}
	r.mu.Lock()
	r.machine.trimmed(state.First, time.Now())
	r.machine.pace.begin(state.Last)
	r.performAll(nil)
	kept := r.machine.keep
	r.machine.keep = r.stream.Config().Retention != stream.Limits
	keeps := r.machine.keep
	r.mu.Unlock()
	if keeps && !kept {
		r.all.sweep(r.stream)
	}
	r.left, r.served = r.undelivered(), 0
	return nil
}

// place finds the consumer's position in the stream where that was not saved.
func (c *Consumer) place() error {
	c.mu.Lock()
	config, unplaced := c.machine.config, c.unplaced
	resume, from := c.machine.resume, c.machine.delivered.stream+1
	half := resume >= from && c.machine.skip == nil
	c.mu.Unlock()
	switch {
	case unplaced:
		s, err := startOf(c.stream, &config)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.machine.begin(s)
		c.unplaced = false
	case half:
		s := lastPerSubject(c.stream, config.filters(), resume, from)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.machine.next, c.machine.skip, c.machine.resume = s.next, s.skip, s.resume
	}
	return nil
}

// undelivered counts the messages that the consumer was not given.
func (c *Consumer) undelivered() uint64 {
	c.mu.Lock()
	next, first, filters := c.machine.next, uint64(len(c.machine.skip)), c.machine.config.filters()
	if first > 0 {
		next = c.machine.resume + 1
	}
	c.mu.Unlock()
	return first + c.stream.Pending(next, filters)
}

// found is what came of reading.
type found uint8

const (
	nothing   found = iota // there is no message, or it cannot be read
	something              // a message
	again                  // try again: the stream is not what it was
)

// read finds and reads the message that is wanted.
func (r *reader) read(w wanted) (message.Message, found) {
	sequence := w.sequence
	if !w.exactly {
		config := r.config()
		var ok bool
		if sequence, ok = r.stream.Next(w.sequence, config.filters()); !ok {
			r.atEnd(sequence - 1)
			return message.Message{}, nothing
		}
	}
	if r.cursor == nil {
		r.cursor = r.stream.Cursor()
	}
	m, err := r.cursor.Get(sequence)
	switch {
	case err == nil:
		return m, something
	case errors.Is(err, stream.ErrNoMessage) && !r.holds(sequence):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.machine.missing(sequence, time.Now())
		r.performAll(nil)
		r.stale, r.served = true, 0
		return m, again
	}
	r.complain(err)
	return m, nothing
}

// holds says that the stream has a message.
func (c *Consumer) holds(sequence uint64) bool {
	found, ok := c.stream.Next(sequence, nil)
	return ok && found == sequence
}

// atEnd tells that the stream has nothing more for the consumer up to last.
func (r *reader) atEnd(last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.end(last, time.Now())
	r.performAll(nil)
}

// offer delivers a message, unless it is not wanted any more, or nobody takes it now.
func (r *reader) offer(w wanted, m message.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if still, ok := r.machine.wants(now); r.gone || !ok || still != w {
		return !r.gone
	}
	if r.machine.config.HeadersOnly {
		m.Header, m.Data = withHeader(m.Header, "Nats-Msg-Size", len(m.Data)), nil
	}
	again := r.machine.pending.get(m.Sequence) != nil
	left := r.left
	if !again && left > 0 {
		left--
	}
	size := len(m.Subject) + len(m.Header) + len(m.Data)
	if !r.machine.offer(offered{m.Sequence, m.Time, size, left}, now, r.all.outlet) {
		r.performAll(nil)
		return false
	}
	r.left, r.lastRead = left, now
	r.served++
	r.performAll(&m)
	return true
}

// complain tells that the stream cannot be read; it is tried again.
func (r *reader) complain(err error) {
	r.failed = true
	if r.stream.Gone() {
		return
	}
	r.all.log.Error().Err(err).Str("stream", r.names.stream).Str("consumer", r.names.consumer).
		Msg("a consumer cannot read its stream; nothing is skipped, it tries again; check the disk, and `brokerd log verify`")
}

// idle does what is due, and says for how long there is nothing to do unless something happens; and whether the consumer
// is gone.
func (r *reader) idle() (time.Duration, bool) {
	defer r.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return 0, true
	}
	if r.watch() {
		return 0, false // somebody may have come or left before it could be heard
	}
	now := time.Now()
	r.saveSoon(now)
	next := earliest(r.machine.deadline(now), r.saveAt)
	wait := noDeadline
	if !next.IsZero() {
		wait = max(next.Sub(now), 0)
	}
	if r.failed {
		wait = min(wait, retryEach)
	}
	if r.cursor != nil {
		wait = min(wait, keepCursor)
		if now.Sub(r.lastRead) >= keepCursor {
			r.cursor = nil
		}
	}
	r.served = 0
	return wait, false
}

// shutDown tells those who wait that the broker stops, and saves what is left.
func (c *Consumer) shutDown() {
	c.mu.Lock()
	c.machine.endAll("409 Server Shutdown", true, time.Now())
	c.performAll(nil)
	c.unwatch()
	if c.unsaved() {
		c.save()
	}
	c.mu.Unlock()
	c.release()
}
