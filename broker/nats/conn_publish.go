package nats

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"brokerd/broker/nats/route"
	"brokerd/broker/nats/wire"
	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// target is what is known about a subject that a client publishes to.
type target struct {
	subject   string
	listeners *route.Result[*subscription]
	allowed   bool
	literal   bool // it is a valid subject without wildcards
	storable  bool // a stream can have it: wildcards in it stand for themselves, as with nats-server
	service   bool // it is the broker's own
}

// targetsLimit is about how many bytes a connection takes to remember targets.
const targetsLimit = 256 << 10

// targets remembers what is known of the subjects that one client publishes to, as long as no subscription changes.
type targets struct {
	version uint64
	known   map[string]*target
	size    int // bytes, about
}

func (t *targets) forget() { t.known = nil }

// target finds out about a subject.
func (c *conn) target(name []byte) *target {
	t := &c.targets
	if v := c.s.table.Version(); v != t.version || t.known == nil || t.size >= targetsLimit {
		t.version, t.known, t.size = v, map[string]*target{}, 0
	}
	if known := t.known[string(name)]; known != nil {
		return known
	}
	s := c.s.who.domainless(string(name))
	found := &target{
		subject:   s,
		listeners: c.s.table.Match(s),
		allowed:   c.session.Load().user.publish.has(string(name)) && !hasPrefix(name, "_GR_.", "$GR.", "$NRG."),
		literal:   subject.Literal(s),
		storable:  subject.Tokens(s),
		service:   forBroker(s),
	}
	t.known[string(name)] = found
	t.size += found.size()
	return found
}

// size is about how many bytes the target takes.
func (t *target) size() int {
	const each, listener = 160, 8
	n := len(t.listeners.Plain)
	for _, q := range t.listeners.Queues {
		n += len(q.Members)
	}
	return each + 2*len(t.subject) + n*listener
}

// hasPrefix says that s begins with one of the prefixes.
func hasPrefix(s []byte, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) >= len(p) && string(s[:len(p)]) == p {
			return true
		}
	}
	return false
}

func (c *conn) publish(command *wire.Command) error {
	s := c.session.Load()
	if command.HPub && !s.options.Headers {
		return fmt.Errorf("%w: a header from a client that said it has none", errProtocol)
	}
	m := publication{command.Subject, command.Reply, command.Header, command.Data}
	c.received.count(len(m.header) + len(m.data))
	t := c.target(m.subject)
	if s.options.Pedantic && !t.literal {
		c.sayError("Invalid Publish Subject")
	}
	switch {
	case !t.allowed && !(s.user.Respond && c.replies.use(m.subject)):
		c.sayError(fmt.Sprintf("Permissions Violation for Publish to %q", m.subject))
		return nil
	case len(m.reply) > 0 && hasPrefix(m.reply, "$JS.", "_R_.", "_GR_.", "$GR."):
		c.sayError(fmt.Sprintf("Permissions Violation for Publish with Reply of %q", m.reply))
		return nil
	}
	c.ok(&s.options)
	heard := c.s.spread(&m, t.listeners, c, s.options.Echo)
	taken, err := c.offer(t, &m)
	if err != nil {
		return err
	}
	if !heard && !taken && len(m.reply) > 0 && s.options.NoResponders {
		c.tellNobodyListens(&m)
	}
	return nil
}

// offer gives a message to the broker itself, or to the stream that has its subject; false when neither wants it.
func (c *conn) offer(t *target, m *publication) (bool, error) {
	if t.service {
		return c.s.services.take(&request{
			subject: t.subject, reply: string(m.reply), header: bytes.Clone(m.header), body: bytes.Clone(m.data), from: c.caller,
		}), nil
	}
	if c.s.streams == nil || !t.storable {
		return false, nil
	}
	st, ok := c.s.streams.ForSubject(t.subject)
	if !ok {
		return false, nil
	}
	return true, c.store(st, t, m)
}

// store publishes into a stream. When too much is on its way there already, or the client does not read what it is
// answered, it waits, and so the client is not read.
func (c *conn) store(st *stream.Stream, t *target, m *publication) error {
	const overhead = 256 // for what a message takes besides its bytes, and its answer
	cost := min(int64(len(m.header)+len(m.data)+overhead), c.s.o.Limits.InFlight)
	eased := c.out.nearlyFull()
	if eased != nil || !c.inFlight.TryAcquire(cost) {
		if err := c.hold(eased, cost); err != nil {
			return err
		}
	}
	c.s.inFlight.Add(cost)
	c.s.services.api.store(st, t.subject, string(m.reply), m.header, m.data, func() {
		c.s.inFlight.Add(-cost)
		c.inFlight.Release(cost)
	})
	return nil
}

// hold waits until the client has read some of its answers, if eased is not nil, and until cost bytes may be on their way.
func (c *conn) hold(eased <-chan struct{}, cost int64) error {
	c.pass.end()
	c.pulse.hold(true)
	defer c.pulse.hold(false)
	if eased != nil {
		select {
		case <-eased:
		case <-c.alive.Done():
			return c.alive.Err()
		}
	}
	return c.inFlight.Acquire(c.alive, cost)
}

// tellNobodyListens answers a request that nobody got.
func (c *conn) tellNobodyListens(m *publication) {
	for _, sub := range c.s.table.Match(string(m.reply)).Plain {
		if sub.conn == c {
			header := "NATS/1.0 503\r\nNats-Subject: " + string(m.subject) + "\r\n\r\n"
			sub.deliver(&publication{subject: m.reply, header: []byte(header)}, c)
			return
		}
	}
}

// How long a publisher waits for a client that does not read as fast as it is written to: for one message, and for all
// that came with one read. It keeps a fast publisher from losing a subscriber that only needs a moment.
const (
	waitForOne  = 2 * time.Millisecond
	waitForPass = 10 * time.Millisecond
)

// waitFor waits for a slow client, for a short time.
func (c *conn) waitFor(eased <-chan struct{}) {
	if c.pass.waited >= waitForPass {
		return
	}
	waited := c.pass.waited
	c.pass.end()
	began := time.Now()
	timer := time.NewTimer(waitForOne)
	defer timer.Stop()
	select {
	case <-eased:
	case <-timer.C:
	case <-c.alive.Done():
	}
	c.pass.waited = waited + time.Since(began)
}

// spread queues a message for all who listen, one of each queue group, and says whether there was anybody. from is the
// connection that it came from, which gets it too if echo is set; nil for the broker.
func (s *Server) spread(m *publication, to *route.Result[*subscription], from *conn, echo bool) (heard bool) {
	for _, sub := range to.Plain {
		if (echo || sub.conn != from) && sub.deliver(m, from) {
			heard = true
		}
	}
	for i := range to.Queues {
		if deliverToOne(to.Queues[i].Members, m, from, echo) {
			heard = true
		}
	}
	return heard
}

// deliverToOne picks a member by chance; the next one if it is gone.
func deliverToOne(members []*subscription, m *publication, from *conn, echo bool) bool {
	first := 0
	if len(members) > 1 {
		first = rand.IntN(len(members))
	}
	for i := range members {
		sub := members[(first+i)%len(members)]
		if (echo || sub.conn != from) && sub.deliver(m, from) {
			return true
		}
	}
	return false
}

// broadcast is a publication of the broker's own.
func (s *Server) broadcast(m *publication, name string) {
	s.spread(m, s.table.Match(name), nil, true)
	if s.streams == nil || !subject.Literal(name) {
		return
	}
	if st, ok := s.streams.ForSubject(name); ok {
		s.services.api.store(st, name, string(m.reply), m.header, m.data, func() {})
	}
}
