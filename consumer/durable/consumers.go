package durable

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"brokerd/consumer/store"
	"brokerd/topic/stream"
)

// Options is what Consumers are opened with.
type Options struct {
	DB      *bbolt.DB
	Streams *stream.Streams
	Outlet  Outlet
	Logger  zerolog.Logger
}

// Consumers is the consumers of all streams.
type Consumers struct {
	streams *stream.Streams
	outlet  Outlet
	log     zerolog.Logger
	store   *store.Store
	wake    chan struct{} // holds one: there are consumers whose loop is to be started

	mu       sync.RWMutex
	byStream map[string]map[string]*Consumer
	starting []*Consumer
}

// Open loads the consumers. What is damaged is reported through the logger and left out.
func Open(o Options) (*Consumers, error) {
	cs := &Consumers{
		streams:  o.Streams,
		outlet:   o.Outlet,
		log:      o.Logger,
		store:    store.New(o.DB, "the state of consumers", o.Logger),
		wake:     make(chan struct{}, 1),
		byStream: map[string]map[string]*Consumer{},
	}
	if err := cs.load(o.DB); err != nil {
		return nil, err
	}
	o.Streams.OnDelete(cs.streamDeleted)
	o.Streams.OnUpdate(cs.streamChanges)
	return cs, nil
}

// Run delivers, keeps deadlines and saves, until ctx is done; then it tells waiting pull requests of the shutdown, and
// saves what is left. Nothing is made, changed or acknowledged while it does not run.
func (cs *Consumers) Run(ctx context.Context) error {
	saving, saved := context.WithCancel(context.WithoutCancel(ctx))
	var saver, loops errgroup.Group
	saver.Go(func() error { cs.store.Run(saving); return nil })
	loops.Go(func() error { cs.sweepAll(ctx); return nil })
	for ctx.Err() == nil {
		for _, c := range cs.takeStarting() {
			loops.Go(func() error { c.run(ctx); return nil })
		}
		select {
		case <-cs.wake:
		case <-ctx.Done():
		}
	}
	for _, c := range cs.takeStarting() {
		c.shutDown()
	}
	err := loops.Wait()
	saved()
	_ = saver.Wait()
	return err
}

func (cs *Consumers) takeStarting() []*Consumer {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := cs.starting
	cs.starting = nil
	return list
}

// activate has c's loop started.
func (cs *Consumers) activate(c *Consumer) {
	cs.mu.Lock()
	cs.starting = append(cs.starting, c)
	cs.mu.Unlock()
	poke(cs.wake)
}

// poke wakes who waits for ch, which holds one.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Get finds a consumer.
func (cs *Consumers) Get(streamName, name string) (*Consumer, bool) {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	c, ok := cs.byStream[streamName][name]
	return c, ok
}

// List returns a stream's consumers ordered by name.
func (cs *Consumers) List(streamName string) []*Consumer {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	return slices.SortedFunc(maps.Values(cs.byStream[streamName]), func(a, b *Consumer) int {
		return strings.Compare(a.names.consumer, b.names.consumer)
	})
}

// Ack takes an acknowledgement: subject is $JS.ACK. and what follows. done, if not nil, is called when it is applied and, if
// there is a reply subject and the consumer is a saved one, on disk; with an error when there is no such consumer, or it
// never delivered the message. For +NXT it is not called: the messages that go to reply are the answer. It does not wait.
func (cs *Consumers) Ack(subject, reply string, body []byte, done func(error)) {
	a, err := parseAck(subject, body)
	c, ok := cs.Get(a.names.stream, a.names.consumer)
	if err == nil && !ok {
		err = stream.ErrConsumerNotFound
	}
	if err == nil {
		c.ack(a, reply, done)
	} else if done != nil {
		done(err)
	}
}

// FlowControl takes an answer to a flow control request: subject is $JS.FC. and what follows. It does not wait.
func (cs *Consumers) FlowControl(subject string) {
	rest, _ := strings.CutPrefix(subject, flowPrefix)
	tokens := strings.Split(rest, ".")
	if len(tokens) != 3 {
		return
	}
	if c, ok := cs.Get(tokens[0], tokens[1]); ok {
		c.flowControl(subject)
	}
}
