package stream

import (
	"context"
	"maps"
	"sync"
	"time"
)

// saveEach is how often it is saved how far the sources of a stream are copied.
const saveEach = time.Second

// maxCopied is how many sources of a stream are remembered, those that it had before with them.
const maxCopied = 1000

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
	copied := make(map[string]position)
	for _, one := range c.copiers {
		if at, ok := one.position(); ok && !one.mirror {
			copied[one.source.key()] = at
		}
	}
	if !dirty || len(copied) == 0 {
		return
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
	if len(r.Copied) < maxCopied { // a source that comes back goes on where it was
		for key, at := range r.Copied {
			if _, ok := copied[key]; !ok {
				copied[key] = at
			}
		}
	}
	r.Copied, r.CopiedUpTo = copied, upTo
	return s.o.Topics.AlterStream(t.Name(), r.encode(), nil)
}

// tender starts and ends copies as the configurations say. It is Run's.
type tender struct {
	streams *Streams
	loops   *sync.WaitGroup
	last    map[*Stream]*copies // into each stream, whether they have ended or not
}

// tend looks what is to be copied now.
func (t *tender) tend(ctx context.Context) {
	s := t.streams
	wanted := make(map[*Stream]bool)
	for _, e := range s.current().ordered {
		to, now := e.stream, setup(e.stream.Config())
		if now == "" {
			continue
		}
		wanted[to] = true
		if c := s.copiesInto(to); c == nil || c.setup != now {
			t.begin(ctx, to)
		}
	}
	for to, c := range t.last {
		if wanted[to] {
			continue
		}
		c.cancel()
		s.setCopies(to, nil)
		if to.Gone() {
			delete(t.last, to)
		}
	}
}

// begin replaces the copies into a stream.
func (t *tender) begin(ctx context.Context, to *Stream) {
	before := t.last[to]
	if before != nil {
		before.cancel()
	}
	c := newCopies(t.streams, to)
	ctx, c.cancel = context.WithCancel(ctx)
	t.last[to] = c
	t.streams.setCopies(to, c)
	t.loops.Go(func() { c.run(ctx, before) })
}

// copiesInto are the copies into a stream that are under way; nil for none.
func (s *Streams) copiesInto(to *Stream) *copies {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copying[to]
}

func (s *Streams) setCopies(to *Stream, c *copies) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil {
		delete(s.copying, to)
	} else {
		s.copying[to] = c
	}
}

// Copies tells how far the mirror, and the sources in the order of the configuration, are copied into a stream.
func (s *Streams) Copies(to *Stream) (mirror *CopyInfo, sources []CopyInfo) {
	if setup(to.Config()) == "" {
		return nil, nil
	}
	c := s.copiesInto(to)
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
