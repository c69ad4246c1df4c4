package durable

import (
	"crypto/rand"
	"time"

	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// Action says what Create may do.
type Action string

// The actions, as they stand in JSON.
const (
	CreateOrUpdate Action = ""
	CreateOnly     Action = "create"
	UpdateOnly     Action = "update"
)

// ephemeralName is the length of the names that consumers get which come without one.
const ephemeralName = 8

// Create makes a consumer, or updates one, after it has checked and completed the configuration. When it returns, a durable
// one survives a crash. Errors: *stream.Error.
func (cs *Consumers) Create(streamName string, c Config, a Action) (*Consumer, error) {
	made, begin, err := cs.CreateHeld(streamName, c, a)
	if err == nil {
		begin()
	}
	return made, err
}

// CreateHeld is Create, but that a new consumer delivers nothing before begin is called: then the answer to who made it comes
// before the first message.
func (cs *Consumers) CreateHeld(streamName string, c Config, a Action) (made *Consumer, begin func(), err error) {
	begin = func() {}
	s, ok := cs.streams.Get(streamName)
	if !ok {
		return nil, begin, stream.ErrStreamNotFound
	}
	sc := s.Config()
	c.complete(sc.Limits)
	if err := c.check(&sc); err != nil {
		return nil, begin, err
	}
	if c.Name == "" {
		c.Name = c.Durable
	}
	if existing, ok := cs.Get(streamName, c.Name); ok && c.Name != "" {
		return existing, begin, cs.update(existing, c, a, &sc)
	}
	if a == UpdateOnly {
		return nil, begin, stream.ErrConsumerMissing
	}
	c.completeEphemeral()
	c.stampLevel()
	from, err := startOf(s, &c)
	if err != nil {
		return nil, begin, streamError(err)
	}
	made, fresh, err := cs.add(s, c, from)
	if err != nil {
		return nil, begin, err
	}
	if !fresh { // somebody was quicker
		return made, begin, cs.update(made, c, a, &sc)
	}
	return made, func() { cs.activate(made) }, cs.settle(made)
}

// completeEphemeral gives a consumer without a durable name what it needs.
func (c *Config) completeEphemeral() {
	if c.Name == "" {
		c.Name = rand.Text()[:ephemeralName]
	}
	if c.Durable == "" && c.InactiveThreshold == 0 {
		c.InactiveThreshold = defaultInactive
	}
}

// add puts a new consumer into the table. False with one that has the name already.
func (cs *Consumers) add(s *stream.Stream, c Config, begin start) (*Consumer, bool, error) {
	sc := s.Config()
	n := names{sc.Name, c.Name}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if existing, ok := cs.byStream[n.stream][n.consumer]; ok {
		return existing, false, nil
	}
	if err := cs.checkRoom(&sc, &c); err != nil {
		return nil, false, err
	}
	now := time.Now()
	made := cs.newConsumer(s, n, identity{created: now.UTC(), config: c})
	made.machine.begin(begin)
	made.savedPosition = made.machine.position()
	made.made = made.saveIdentity()
	cs.insert(made)
	return made, true, nil
}

// settle brings a new consumer to life, once it is durable.
func (cs *Consumers) settle(c *Consumer) error {
	if err := waitFor(c.made); err != nil {
		cs.forget(c)
		return err
	}
	if c.stream.Gone() { // meanwhile, and its other consumers with it
		cs.remove(c)
		return stream.ErrStreamNotFound
	}
	cs.setInterest(c.stream)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machine.adviseAction("create", time.Now())
	c.performAll(nil)
	return nil
}

// checkRoom says whether the stream takes one more consumer. It is called with cs.mu held.
func (cs *Consumers) checkRoom(sc *stream.Config, c *Config) error {
	if c.Direct {
		return nil
	}
	others := 0
	for _, o := range cs.byStream[sc.Name] {
		if config := o.config(); !config.Direct {
			others++
		}
	}
	if sc.MaxConsumers > 0 && others >= sc.MaxConsumers {
		return stream.ErrMaximumConsumers
	}
	if sc.Retention != stream.WorkQueue {
		return nil
	}
	switch {
	case c.AckPolicy != AckExplicit:
		return stream.ErrConsumerWorkQueueAck
	case c.DeliverPolicy != DeliverAll:
		return stream.ErrConsumerWorkQueuePolicy
	case others > 0 && len(c.filters()) == 0:
		return stream.ErrConsumerWorkQueueUnfiltered
	}
	return cs.checkAlone(sc.Name, c)
}

// checkAlone refuses filters in a work queue that match what another consumer's match. It is called with cs.mu held.
func (cs *Consumers) checkAlone(streamName string, c *Config) error {
	for _, o := range cs.byStream[streamName] {
		config := o.config()
		if config.Name != c.Name && overlap(config.filters(), c.filters()) {
			return stream.ErrConsumerWorkQueueFilter
		}
	}
	return nil
}

// overlap says that there is a subject which both match; no filters match all.
func overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for _, x := range a {
		for _, y := range b {
			if subject.Overlap(x, y) {
				return true
			}
		}
	}
	return false
}

// update changes a consumer that exists.
func (cs *Consumers) update(c *Consumer, next Config, a Action, sc *stream.Config) error {
	old := c.config()
	if old.Durable == "" && next.InactiveThreshold == 0 {
		next.InactiveThreshold = defaultInactive
	}
	if a == CreateOnly && !old.equal(&next) {
		return stream.ErrConsumerExists
	}
	if sc.Retention == stream.WorkQueue {
		cs.mu.RLock()
		err := cs.checkAlone(sc.Name, &next)
		cs.mu.RUnlock()
		if err != nil {
			return err
		}
	}
	if old.equal(&next) {
		return waitFor(c.made)
	}
	bound := old.push() && cs.outlet.Listening(old.DeliverSubject, "")
	if err := old.checkUpdate(&next, bound); err != nil {
		return err
	}
	if err := c.configure(next); err != nil {
		return err
	}
	cs.setInterest(c.stream)
	if !sameFilters(old.filters(), next.filters()) {
		cs.sweep(c.stream)
	}
	return nil
}
