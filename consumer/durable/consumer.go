package durable

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"brokerd/consumer/store"
	"brokerd/topic/stream"
)

// Consumer is one consumer. It stays valid, but refuses everything, after it was deleted.
type Consumer struct {
	all     *Consumers
	stream  *stream.Stream
	names   names
	created time.Time
	key     []byte // of its records; nil if it is not saved

	wake    chan struct{} // holds one: something was asked of the consumer
	changed chan struct{} // holds one: the stream changed
	heard   chan struct{} // holds one: clients began or ended to listen, or have room again

	mu            sync.Mutex
	machine       *machine
	gone          bool
	made          *store.Write // the write that made it; nil when it was loaded, or is not saved
	deleted       int          // messages that were missing from the stream when it was last looked at
	unplaced      bool         // its position is still to be found: where it starts
	watched       map[string]func()
	released      []uint64 // messages that it is done with, on their way to the stream
	expired       bool     // nobody used it for too long: it is to be deleted
	queued        bool     // a save is queued, and has not looked at the machine yet
	answers       []func(error)
	savedPosition position
	saveAt        time.Time // when what is unsaved is saved at the latest; zero when all is saved
}

// saveWithin is how soon deliveries and acknowledgements are saved for which nobody waits.
const saveWithin = 200 * time.Millisecond

func (cs *Consumers) newConsumer(s *stream.Stream, n names, i identity) *Consumer {
	c := &Consumer{
		all: cs, stream: s, names: n, created: i.created,
		wake: make(chan struct{}, 1), changed: make(chan struct{}, 1), heard: make(chan struct{}, 1),
		watched: map[string]func(){},
	}
	sc := s.Config()
	if !i.config.MemoryStorage && !i.config.Direct && sc.Storage != stream.Memory {
		c.key = n.key()
	}
	c.machine = newMachine(i.config, n, sc.Retention != stream.Limits, rand.Text, time.Now())
	return c
}

// Name is the consumer's name.
func (c *Consumer) Name() string { return c.names.consumer }

// config is the configuration. The caller does not change it.
func (c *Consumer) config() Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.config
}

// Pull takes a pull request, as its body stands in JetStream's API (ADR-13): empty, a number, or JSON. Messages and
// statuses go to inbox; so does whatever is wrong with the request. It does not wait.
func (c *Consumer) Pull(inbox string, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		c.perform(status{inbox: inbox, line: "409 Consumer Deleted"}, nil)
		return
	}
	c.pull(inbox, body)
}

// pull is called with c.mu held.
func (c *Consumer) pull(inbox string, body []byte) {
	c.machine.pull(inbox, body, time.Now(), c.all.outlet)
	c.performAll(nil)
	poke(c.wake)
}

func (c *Consumer) ack(a ack, reply string, done func(error)) {
	c.mu.Lock()
	var err error = stream.ErrConsumerNotFound
	if !c.gone {
		err = c.machine.ack(a, time.Now())
		c.performAll(nil)
		if a.verb == nextVerb && reply != "" {
			c.pull(reply, a.next)
		}
	}
	c.mu.Unlock()
	c.release()
	poke(c.wake)
	switch {
	case a.verb == nextVerb, done == nil:
		return
	case err != nil || c.key == nil || reply == "":
		done(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, done)
	c.save()
}

func (c *Consumer) flowControl(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machine.window.answered(id) {
		poke(c.wake)
	}
}

// save queues a save of what is unsaved, unless one is queued that will take it along. It is called with c.mu held.
func (c *Consumer) save() {
	c.saveAt = time.Time{}
	if c.key == nil || c.queued {
		return
	}
	c.queued = true
	s := &saving{consumer: c}
	if !c.all.store.Add(s.put, s.saved).Refused() {
		return
	}
	for _, done := range c.answers {
		done(store.ErrClosed)
	}
	c.answers, c.queued = nil, false
}

// Pause stops deliveries until then; a time that is past resumes them. Durable when it returns. Errors: *stream.Error.
func (c *Consumer) Pause(until time.Time) error {
	config := c.config()
	next := config.clone()
	next.PauseUntil = nil
	if !until.IsZero() {
		until = until.UTC()
		next.PauseUntil = &until
	}
	return c.configure(next)
}

// configure changes the configuration, durably.
func (c *Consumer) configure(next Config) error {
	next.stampLevel()
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return stream.ErrConsumerMissing
	}
	c.machine.configure(next, time.Now())
	c.performAll(nil)
	w := c.saveIdentity()
	c.mu.Unlock()
	poke(c.wake)
	poke(c.changed) // the filters may match more, or less
	return waitFor(w)
}

// Reset moves the consumer to deliver from sequence on, 0 for its ack floor; what is pending is forgotten. Durable when it
// returns. It returns the sequence. Errors: *stream.Error.
func (c *Consumer) Reset(sequence uint64) (uint64, error) {
	config := c.config()
	if err := c.mayReset(&config, sequence); err != nil {
		return 0, stream.ConsumerReset(err)
	}
	if sequence == 0 {
		c.mu.Lock()
		sequence = c.machine.floor.stream + 1
		c.mu.Unlock()
	}
	s := start{next: sequence}
	if config.DeliverPolicy == DeliverLastPerSubject {
		state, err := c.stream.State()
		if err != nil {
			return 0, streamError(err)
		}
		s = lastPerSubject(c.stream, config.filters(), state.Last, sequence)
	}
	if err := c.moveTo(s)(context.Background()); err != nil {
		return 0, streamError(err)
	}
	c.all.sweep(c.stream)
	return sequence, nil
}

func (c *Consumer) mayReset(config *Config, sequence uint64) error {
	if sequence == 0 {
		return nil
	}
	switch config.DeliverPolicy {
	case DeliverAll:
		return nil
	case DeliverByStartSeq:
		if sequence < config.StartSeq {
			return errors.New("below start seq")
		}
		return nil
	case DeliverByStartTime:
		if first, err := c.stream.AtTime(*config.StartTime); err != nil || sequence < first {
			return errors.New("below start time")
		}
		return nil
	}
	return errors.New("not allowed")
}

// moveTo goes to another place in the stream. What it returns waits until that is durable, if the consumer is saved.
func (c *Consumer) moveTo(s start) func(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return failed(stream.ErrConsumerNotFound)
	}
	c.machine.reset(s, time.Now())
	c.unplaced = false
	poke(c.wake)
	poke(c.changed)
	return c.whenSaved()
}

func failed(err error) func(context.Context) error { return func(context.Context) error { return err } }

// Unpin makes another client of a priority group the pinned one. Errors: *stream.Error.
func (c *Consumer) Unpin(group string) error {
	if err := checkGroupName(group); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.gone:
		return stream.ErrConsumerNotFound
	case !slices.Contains(c.machine.config.PriorityGroups, group):
		return stream.ErrConsumerPriorityGroup
	}
	c.machine.unpin("admin", time.Now())
	c.performAll(nil)
	poke(c.wake)
	return nil
}

// waitFor returns when a write is durable. Nil is nothing to wait for.
func waitFor(w *store.Write) error {
	if w == nil {
		return nil
	}
	if err := w.Wait(context.Background()); err != nil {
		return streamError(err)
	}
	return nil
}

// streamError gives any error the form of the API's.
func streamError(err error) error {
	var known *stream.Error
	if errors.As(err, &known) {
		return known
	}
	return stream.ConsumerCreateFailed(err)
}
