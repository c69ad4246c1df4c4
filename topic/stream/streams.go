package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"brokerd/topic"
)

// Options is what Streams are opened with.
type Options struct {
	Topics *topic.Registry
	Logger zerolog.Logger
	// Republish, if set, gives a message to core subscribers (Config.Republish). It does not wait.
	Republish func(subject string, header, data []byte)
	// Advise, if set, is called for the API's advisories; kind and token are the end of their subject, such as
	// "STREAM.CREATED" and the stream's name. It does not wait.
	Advise func(kind, token string, advisory any)

	batches *openBatches // of all streams
}

// Streams is the set of all streams: those made through JetStream, and the topics made through Kafka. It follows the
// topics (follow.go): a stream is there when its topic is, whoever made it.
type Streams struct {
	o    Options
	turn chan struct{} // taken by whoever makes, changes or deletes a stream; held while that is written
	wake chan struct{} // holds one: there are streams whose loop is to be started, or the streams changed

	version atomic.Uint64 // grows with each change of what view shows
	view    atomic.Pointer[view]

	mu       sync.Mutex
	byTopic  map[topic.ID]*family                 // guarded by mu
	starting []*entry                             // guarded by mu
	copying  map[*Stream]*copies                  // guarded by mu
	deleted  []func(*Stream)                      // guarded by mu: see OnDelete
	guards   []func(s *Stream, next Config) error // guarded by mu: see OnUpdate
}

// Open loads the configurations of all streams; their indexes are made when they are first needed. Damaged ones are
// reported through the logger, and left out.
func Open(o Options) (*Streams, error) {
	o.batches = &openBatches{}
	s := &Streams{
		o:       o,
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		byTopic: make(map[topic.ID]*family),
		copying: make(map[*Stream]*copies),
	}
	s.view.Store(newView(nil, 0))
	if err := o.Topics.OnChange(s.changed); err != nil {
		return nil, fmt.Errorf("stream: follow the topics: %w", err)
	}
	return s, nil
}

// Create makes a stream; when it returns, the stream survives a crash. One that exists with the same configuration is
// returned as it is. Errors: *Error.
func (s *Streams) Create(c Config, pedantic bool) (*Stream, error) {
	s.turn <- struct{}{}
	defer s.give()
	c, exists, err := s.book(c.Name).create(c, pedantic)
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := s.makeTopic(c); err != nil {
			return nil, err
		}
		s.advise("CREATED", "create", c.Name)
	}
	made, ok := s.Get(c.Name)
	if !ok {
		return nil, ErrStreamNotFound // it was deleted through Kafka since
	}
	return made, nil
}

func (s *Streams) makeTopic(c Config) error {
	_, err := s.o.Topics.Create(topic.Spec{
		Name:        topicName(c.Name),
		Partitions:  1,
		Settings:    settings(c),
		Stream:      record{Config: c}.encode(),
		Memory:      c.Storage == Memory,
		FirstOffset: int64(max(c.FirstSeq, 1)) - 1,
	})
	switch {
	case errors.Is(err, topic.ErrExists), errors.Is(err, topic.ErrBadName):
		return ErrStreamExists
	case errors.Is(err, topic.ErrBadConfig):
		return InvalidConfig(err)
	case err != nil:
		s.o.Logger.Error().Err(err).Str("stream", c.Name).Msg("A stream could not be made. Nothing was kept of it; see why, and try again.")
		return CreateFailed(err)
	}
	return nil
}

// Update changes a stream's configuration; it takes effect at once, and when Update returns it survives a crash.
// Errors: *Error.
func (s *Streams) Update(c Config, pedantic bool) (*Stream, error) {
	s.turn <- struct{}{}
	defer s.give()
	c, err := s.book(c.Name).update(c, pedantic)
	if err != nil {
		return nil, err
	}
	e, ok := s.current().byName[c.Name]
	if !ok {
		return nil, ErrStreamNotFound
	}
	for _, guard := range s.updateGuards() {
		if err := guard(e.stream, c); err != nil {
			return nil, err
		}
	}
	if err := s.alterTopic(e.stream, c); err != nil {
		return nil, err
	}
	s.start(e)
	s.advise("UPDATED", "modify", c.Name)
	return e.stream, nil
}

func (s *Streams) alterTopic(st *Stream, c Config) error {
	t, _ := st.Topic()
	var err error
	if t.Stream() == nil {
		list, ok := kafkaChanges(st.Config(), c, valuesOf(t))
		if !ok {
			return invalid("the topic %s was made through Kafka: only max_age, max_bytes, max_msgs_per_subject (1 or -1), compression and persist_mode of its streams can be changed", t.Name())
		}
		err = s.o.Topics.Alter(t.Name(), list, false)
	} else {
		var r record
		if r, err = decodeRecord(t.Stream()); err == nil {
			r.Config = c
			err = s.o.Topics.AlterStream(t.Name(), r.encode(), changes(st.Config(), c, valuesOf(t)))
		}
	}
	switch {
	case errors.Is(err, topic.ErrNotFound):
		return ErrStreamNotFound
	case errors.Is(err, topic.ErrBadConfig):
		return InvalidConfig(err)
	case err != nil:
		s.o.Logger.Error().Err(err).Str("stream", c.Name).Msg("A stream's new configuration could not be stored. The old one holds; see why, and try again.")
		return UpdateFailed(err)
	}
	return nil
}

// Delete removes a stream with its topic. Errors: *Error.
func (s *Streams) Delete(name string) error {
	s.turn <- struct{}{}
	defer s.give()
	e, ok := s.current().byName[name]
	if !ok {
		return ErrStreamNotFound
	}
	t, n := e.stream.Topic()
	if len(t.Partitions()) > 1 {
		return DeleteFailed(fmt.Errorf("the stream is partition %d of the topic %s: delete the topic", n, t.Name()))
	}
	err := s.o.Topics.Delete(t.Name())
	switch {
	case errors.Is(err, topic.ErrNotFound):
		return ErrStreamNotFound
	case err != nil:
		s.o.Logger.Error().Err(err).Str("stream", name).Msg("A stream could not be deleted. It was kept; see why, and try again.")
		return DeleteFailed(err)
	}
	s.advise("DELETED", "delete", name)
	return nil
}

func (s *Streams) give() { <-s.turn }

// book is what the configuration of the stream called name is checked against.
func (s *Streams) book(name string) book {
	v := s.current()
	return book{
		find: func(name string) (Config, bool) {
			e, ok := v.byName[name]
			if !ok {
				return Config{}, false
			}
			return e.stream.Config(), true
		},
		others: func(yield func(Config) bool) {
			for _, e := range v.ordered {
				if !v.related(name, e) && !yield(e.stream.Config()) {
					return
				}
			}
		},
	}
}

// Get finds a stream by name; a topic that was made through Kafka is found by its name with "_" for each ".", and
// "-N" for partition N if it has several.
func (s *Streams) Get(name string) (*Stream, bool) {
	e, ok := s.current().byName[name]
	if !ok {
		return nil, false
	}
	s.start(e)
	return e.stream, true
}

// List returns the streams that have a subject which overlaps with filter, ordered by name; all for an empty filter. They are
// to look at: nothing is written into one that is a topic made through Kafka before Get or ForSubject found it.
func (s *Streams) List(filter string) []*Stream {
	var list []*Stream
	for _, e := range s.current().ordered {
		if filter == "" || wants(e.stream.Config().Subjects, filter) {
			list = append(list, e.stream)
		}
	}
	return list
}

// ForSubject finds the stream that a message with this literal subject goes to. It is called for every core publish and
// takes no lock, but for the first call after the streams changed.
func (s *Streams) ForSubject(subject string) (*Stream, bool) {
	e := s.current().captures.find(subject)
	if e == nil {
		return nil, false
	}
	s.start(e)
	return e.stream, true
}

// OnDelete calls f after a stream was deleted, through either protocol, before Delete returns. f does not wait, and makes
// and deletes no streams.
func (s *Streams) OnDelete(f func(*Stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = append(s.deleted, f)
}

// OnUpdate calls f before a stream's configuration is changed to next, complete and checked; an error, which is an *Error,
// refuses the change. f makes and deletes no streams.
func (s *Streams) OnUpdate(f func(s *Stream, next Config) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guards = append(s.guards, f)
}

func (s *Streams) updateGuards() []func(*Stream, Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guards
}

// Run writes what is published, expires messages, and copies mirrors and sources, until ctx is done. Nothing that is
// published is acknowledged while it does not run.
func (s *Streams) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	defer loops.Wait()
	defer func() {
		for _, e := range s.takeStarting() {
			e.stream.refuse()
		}
	}()
	copying := tender{s, &loops, make(map[*Stream]*copies)}
	for {
		for _, e := range s.takeStarting() {
			loops.Go(func() { s.runStream(ctx, e.stream) })
		}
		copying.tend(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
	}
}

func (s *Streams) runStream(ctx context.Context, st *Stream) {
	if err := st.run(ctx); err != nil && ctx.Err() == nil {
		s.o.Logger.Error().Err(err).Str("stream", st.Name()).Msg("A stream stopped taking messages. What it holds was kept; see why, and start the broker again.")
	}
}

// start has a stream's loop started, unless it was before.
func (s *Streams) start(e *entry) {
	if e.started.Load() || e.started.Swap(true) {
		return
	}
	s.mu.Lock()
	s.starting = append(s.starting, e)
	s.mu.Unlock()
	s.poke()
}

// poke wakes Run.
func (s *Streams) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Streams) takeStarting() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.starting
	s.starting = nil
	return list
}
