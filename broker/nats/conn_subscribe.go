package nats

import (
	"bytes"
	"fmt"

	"brokerd/broker/nats/route"
	"brokerd/broker/nats/wire"
	"brokerd/topic/subject"
)

// subscription is one of a client.
type subscription struct {
	conn           *conn
	sid            []byte
	subject, queue string
	denied         []string // subjects that it gets nothing of
	responds       bool     // whoever subscribed may answer, because it was asked
	entry          *route.Sub[*subscription]

	delivered int64 // guarded by conn.out.mu, like the two below
	max       int64 // messages, after which it ends; 0 for no end
	ended     bool
}

// publication is one message on its way. Whoever keeps it copies it.
type publication struct {
	subject, reply []byte
	header, data   []byte
}

func (c *conn) subscribe(command *wire.Command) error {
	s := c.session.Load()
	sub := &subscription{conn: c, sid: bytes.Clone(command.SID), subject: string(command.Subject), queue: string(command.Queue)}
	denied, ok := s.user.subscribe.covers(sub.subject, sub.queue)
	if !ok {
		using := ""
		if sub.queue != "" {
			using = fmt.Sprintf(" using queue %q", sub.queue)
		}
		c.sayError(fmt.Sprintf("Permissions Violation for Subscription to %q%s", sub.subject, using))
		return nil
	}
	sub.denied, sub.responds = denied, s.user.Respond
	c.mu.Lock()
	_, twice := c.subs[string(sub.sid)]
	n := len(c.subs)
	c.mu.Unlock()
	if most := c.s.o.Limits.MaxSubscriptions; most > 0 && n >= most {
		c.sayError("maximum subscriptions exceeded")
		return nil
	}
	if !twice {
		if err := c.begin(sub); err != nil {
			c.sayError("Invalid Subject")
			return nil
		}
	}
	c.ok(&s.options)
	return nil
}

// begin lets messages come.
func (c *conn) begin(sub *subscription) error {
	if !subject.Valid(sub.subject) {
		return subject.ErrInvalid
	}
	c.mu.Lock()
	c.subs[string(sub.sid)] = sub
	c.mu.Unlock()
	entry, err := c.s.table.Add(sub.subject, sub.queue, sub)
	if err != nil {
		return err
	}
	sub.entry = entry
	return nil
}

func (c *conn) unsubscribe(command *wire.Command) {
	c.mu.Lock()
	sub := c.subs[string(command.SID)]
	c.mu.Unlock()
	if sub != nil && c.out.endAfter(sub, int64(command.Max)) {
		c.forget(sub)
	}
	c.ok(&c.session.Load().options)
}

// endAfter ends a subscription after so many messages since it began; at once if they have come. It says so then.
func (o *outbound) endAfter(sub *subscription, max int64) (now bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if max > sub.delivered {
		sub.max = max
		return false
	}
	sub.ended = true
	return true
}

// forget takes a subscription away that has ended.
func (c *conn) forget(sub *subscription) {
	c.mu.Lock()
	if c.subs[string(sub.sid)] == sub {
		delete(c.subs, string(sub.sid))
	}
	c.mu.Unlock()
	c.s.table.Remove(sub.entry)
}

func (c *conn) unsubscribeAll() {
	c.mu.Lock()
	all := c.subs
	c.subs = nil
	c.mu.Unlock()
	for _, sub := range all {
		c.s.table.Remove(sub.entry)
	}
}

// deliver queues a message for a subscriber, and says whether it did. from is the connection that published it; nil for
// the broker.
func (sub *subscription) deliver(m *publication, from *conn) bool {
	for _, filter := range sub.denied {
		if subject.Match(filter, string(m.subject)) {
			return false
		}
	}
	if sub.responds && len(m.reply) > 0 {
		sub.conn.replies.allow(m.reply)
	}
	var p *pass
	if from != nil {
		p = &from.pass
	}
	eased, ok, end := sub.conn.out.message(sub, m, p)
	if end {
		sub.conn.forget(sub)
	}
	if eased != nil && from != nil {
		from.waitFor(eased)
	}
	return ok
}
