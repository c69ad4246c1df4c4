package stream

import (
	"context"
	"maps"
	"sync"
	"time"
)

// saveEach is how often it is saved how far the sources of a stream are copied.
const saveEach = time.Second

// copies is everything that is copied into one stream.
type copies struct {
	streams *Streams
	to      *Stream
	setup   string // what of the configuration they follow from
	copiers []*copier
	cancel  context.CancelFunc
	ended   chan struct{}

	mu    sync.Mutex
	upTo  uint64 // guarded by mu: the copiers account for everything that is copied up to this sequence of to
	dirty bool   // guarded by mu: something was copied since it was saved
}

// setup is what of a configuration says what is copied; empty for nothing.
func setup(c Config) string {
	if c.Mirror == nil && len(c.Sources) == 0 {
		return ""
	}
	return string(encode(c.Mirror)) + string(encode(c.Sources))
}

func newCopies(s *Streams, to *Stream) *copies {
	conf := to.Config()
	c := &copies{streams: s, to: to, setup: setup(conf), ended: make(chan struct{})}
	if conf.Mirror != nil {
		c.copiers = []*copier{newCopier(s, to, conf.Mirror, true)}
	}
	for _, source := range conf.Sources {
		c.copiers = append(c.copiers, newCopier(s, to, source, false))
	}
	return c
}

// run copies until ctx is done. before are the copies that it takes over from, if any.
func (c *copies) run(ctx context.Context, before *copies) {
	defer close(c.ended)
	if before != nil {
		<-before.ended
	}
	for err := c.load(); err != nil; err = c.load() {
		for _, one := range c.copiers {
			one.note(err)
		}
		if wait(ctx, copyRetry); ctx.Err() != nil {
			return
		}
	}
	var all sync.WaitGroup
	for _, one := range c.copiers {
		all.Go(func() { one.run(ctx, c.took) })
	}
	for ctx.Err() == nil {
		wait(ctx, saveEach)
		if ctx.Err() == nil {
			c.save()
		}
	}
	all.Wait()
	c.save()
}

// took notes that to stored a copied message.
func (c *copies) took(sequence uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upTo, c.dirty = max(c.upTo, sequence), true
}

// load finds how far each source was copied: as it was saved, and what the messages since then say.
func (c *copies) load() error {
	t, _ := c.to.Topic()
	r, err := decodeRecord(t.Stream())
	if err != nil {
		return err
	}
	copied := maps.Clone(r.Copied)
	if copied == nil {
		copied = make(map[string]position)
	}
	state, err := c.to.State()
	if err != nil {
		return err
	}
	if len(c.to.Config().Sources) > 0 {
		cursor := c.to.Cursor()
		defer cursor.Close()
		for at, ok := c.to.Next(r.CopiedUpTo+1, nil); ok && at <= state.Last; at, ok = c.to.Next(at+1, nil) {
			m, err := cursor.Get(at)
			if err != nil {
				continue // it was removed meanwhile, or cannot be read by anybody
			}
			if key, at, ok := parseSourceHeader(parseHeaders(m.Header).source); ok {
				copied[key] = at
			}
		}
	}
	for _, one := range c.copiers {
		if at, ok := copied[one.source.key()]; ok && !one.mirror {
			one.resume(at)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.upTo = state.Last
	return nil
}

// save keeps with the topic how far each source is copied, so that messages which are deleted soon are not copied again
// after a start.
func (c *copies) save() {
	c.mu.Lock()
	upTo, dirty := c.upTo, c.dirty
	c.dirty = false
	c.mu.Unlock()
	if !dirty || len(c.to.Config().Sources) == 0 {
		return
	}
	copied := make(map[string]position)
	for _, one := range c.copiers {
		if at, ok := one.position(); ok {
			copied[one.source.key()] = at
		}
	}
	if err := c.streams.saveCopied(c.to, copied, upTo); err != nil {
		if !c.to.Gone() {
			c.streams.o.Logger.Warn().Err(err).Str("stream", c.to.Name()).Msg("How far the sources of a stream are copied could not be saved. It is tried again; until then a crash may have messages copied twice.")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dirty = true
	}
}

// saveCopied replaces what is kept of the copies with the topic of a stream.
func (s *Streams) saveCopied(to *Stream, copied map[string]position, upTo uint64) error {
	s.turn <- struct{}{}
	defer s.give()
	t, _ := to.Topic()
	r, err := decodeRecord(t.Stream())
	if err != nil {
		return err
	}
	r.Copied, r.CopiedUpTo = copied, upTo
	return s.o.Topics.AlterStream(t.Name(), r.encode(), nil)
}

// tend starts and ends copies as the configurations say. Run calls it, after each change.
func (s *Streams) tend(ctx context.Context, loops *sync.WaitGroup) {
	wanted := make(map[*Stream]bool)
	for _, e := range s.current().ordered {
		to := e.stream
		if setup(to.Config()) == "" {
			continue
		}
		wanted[to] = true
		s.mu.Lock()
		before := s.copying[to]
		s.mu.Unlock()
		if before != nil && before.setup == setup(to.Config()) {
			continue
		}
		s.end(to)
		c := newCopies(s, to)
		var run context.Context
		run, c.cancel = context.WithCancel(ctx)
		s.mu.Lock()
		s.copying[to] = c
		s.mu.Unlock()
		loops.Go(func() { c.run(run, before) })
	}
	s.mu.Lock()
	running := maps.Clone(s.copying)
	s.mu.Unlock()
	for to := range running {
		if !wanted[to] {
			s.end(to)
		}
	}
}

// end ends the copies into a stream.
func (s *Streams) end(to *Stream) {
	s.mu.Lock()
	c := s.copying[to]
	delete(s.copying, to)
	s.mu.Unlock()
	if c != nil {
		c.cancel()
	}
}

// Copies tells how far the mirror, and the sources in the order of the configuration, are copied into a stream.
func (s *Streams) Copies(to *Stream) (mirror *CopyInfo, sources []CopyInfo) {
	if setup(to.Config()) == "" {
		return nil, nil
	}
	s.mu.Lock()
	c := s.copying[to]
	s.mu.Unlock()
	if c == nil {
		c = newCopies(s, to) // they did not begin yet
	}
	for _, one := range c.copiers {
		if info := one.info(); one.mirror {
			mirror = &info
		} else {
			sources = append(sources, info)
		}
	}
	return mirror, sources
}
