package nats

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stats is what a Server counts.
type Stats struct {
	Connections   int   // open ones
	Accepted      int64 // since the start
	Subscriptions int
	MessagesIn    int64 // from clients
	BytesIn       int64
	MessagesOut   int64 // to clients
	BytesOut      int64
	SlowConsumers int64 // connections closed because they did not read
	BytesInFlight int64 // on their way into streams
	BytesPending  int64 // to clients
}

// Stats returns what was counted up to now.
func (s *Server) Stats() Stats {
	n := s.counts()
	return Stats{
		Connections: n.Connections, Accepted: int64(n.Total), Subscriptions: n.Subscriptions,
		MessagesIn: n.In.Messages, BytesIn: n.In.Bytes, MessagesOut: n.Out.Messages, BytesOut: n.Out.Bytes,
		SlowConsumers: n.SlowConsumers, BytesInFlight: s.inFlight.Load(), BytesPending: s.buffers.taken.Load(),
	}
}

// counters counts messages of one connection.
type counters struct{ messages, bytes atomic.Int64 }

func (c *counters) count(bytes int) {
	c.messages.Add(1)
	c.bytes.Add(int64(bytes))
}

// totals is messages from clients and to clients.
type totals struct{ in, out traffic }

func (t *totals) add(o totals) {
	t.in.add(o.in)
	t.out.add(o.out)
}

func (t *traffic) add(o traffic) {
	t.Messages += o.Messages
	t.Bytes += o.Bytes
}

func (c *conn) totals() totals {
	_, sent := c.out.state()
	return totals{traffic{c.received.messages.Load(), c.received.bytes.Load()}, sent}
}

// open lists the connections in the order of their ids.
func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *conn) int { return int(a.id) - int(b.id) })
	return all
}

// counts implements monitor.
func (s *Server) counts() counts {
	s.mu.Lock()
	done, n := s.gone, counts{Start: s.began, Total: s.lastID, Connections: len(s.conns), SlowConsumers: s.slow}
	s.mu.Unlock()
	for _, c := range s.open() {
		done.add(c.totals())
	}
	n.In, n.Out, n.Subscriptions = done.in, done.out, s.table.Len()
	return n
}

// connections implements monitor.
func (s *Server) connections() []connection {
	var all []connection
	for _, c := range s.open() {
		all = append(all, c.describe())
	}
	return all
}

func (c *conn) describe() connection {
	ip, port := addressOf(c.remote)
	pending, out := c.out.state()
	d := connection{
		ID: c.id, IP: ip, Port: port, Start: c.began.UTC(), Active: c.pulse.lastSeen().UTC(), Pending: pending,
		InMessages: c.received.messages.Load(), InBytes: c.received.bytes.Load(), OutMessages: out.Messages, OutBytes: out.Bytes,
	}
	if rtt := c.pulse.roundTrip(); rtt > 0 {
		d.RTT = rtt.Round(time.Microsecond).String()
	}
	if s := c.session.Load(); s != nil {
		d.Name, d.Lang, d.Version, d.User = s.options.Name, s.options.Lang, s.options.Version, s.user.label()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.Subscriptions = len(c.subs)
	for _, sub := range c.subs {
		d.SubjectList = append(d.SubjectList, sub.subject)
	}
	slices.Sort(d.SubjectList)
	return d
}
