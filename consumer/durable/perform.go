package durable

import (
	"bytes"
	"encoding/json"
	"fmt"

	"brokerd/topic/message"
)

// performAll does what the machine asked for. A message, if one is sent, is m. It is called with c.mu held.
func (c *Consumer) performAll(m *message.Message) {
	for out := c.machine.take(); len(out) > 0; out = c.machine.take() {
		for _, e := range out {
			c.perform(e, m)
		}
	}
}

func (c *Consumer) perform(e effect, m *message.Message) {
	switch e := e.(type) {
	case send:
		c.send(e, m)
	case status:
		c.all.outlet.Send(Delivery{Inbox: e.inbox, Group: c.queueGroup(e.inbox), Subject: e.inbox, Reply: e.reply,
			Header: []byte("NATS/1.0 " + e.line + "\r\n\r\n")})
	case advise:
		c.advise(e.advisory)
	case settle:
		c.released = append(c.released, e.sequence)
	case expire:
		c.expired = true
	}
}

// queueGroup is the queue group that gets what is sent to inbox.
func (c *Consumer) queueGroup(inbox string) string {
	if config := &c.machine.config; config.push() && inbox == config.DeliverSubject {
		return config.DeliverGroup
	}
	return ""
}

func (c *Consumer) send(s send, m *message.Message) {
	header := m.Header
	if s.pin != "" {
		header = withHeader(header, "Nats-Pin-Id", s.pin)
	}
	sent := c.all.outlet.Send(Delivery{Inbox: s.inbox, Group: c.queueGroup(s.inbox), Subject: m.Subject, Reply: s.reply,
		Header: header, Data: m.Data})
	switch {
	case !sent:
		c.machine.lost(s.sequence)
	case s.settles:
		c.released = append(c.released, s.sequence)
	}
}

func (c *Consumer) advise(a advisory) {
	b, err := json.Marshal(a)
	if err != nil {
		return // cannot be: there is nothing in it that JSON does not have
	}
	c.all.outlet.Publish(fmt.Sprintf("%s.%s.%s", a.subject(), c.names.stream, c.names.consumer), nil, b)
}

// withHeader adds a line to a header block; nil is no block yet.
func withHeader(block []byte, name string, value any) []byte {
	if len(block) == 0 {
		block = []byte("NATS/1.0\r\n\r\n")
	}
	block = bytes.TrimSuffix(block, []byte("\r\n"))
	return fmt.Appendf(block[:len(block):len(block)], "%s: %v\r\n\r\n", name, value)
}

// watch sees to it that the consumer hears of those it delivers to, and says whether there is one that it did not hear of
// before. It is called with c.mu held.
func (c *Consumer) watch() bool {
	inboxes := map[string]bool{}
	if config := &c.machine.config; config.push() {
		inboxes[config.DeliverSubject] = true
	}
	for _, r := range c.machine.waiting.list {
		inboxes[r.inbox] = true
	}
	for inbox, cancel := range c.watched {
		if !inboxes[inbox] {
			cancel()
			delete(c.watched, inbox)
		}
	}
	added := false
	for inbox := range inboxes {
		if _, ok := c.watched[inbox]; !ok {
			c.watched[inbox] = c.all.outlet.Watch(inbox, c.heard)
			added = true
		}
	}
	return added
}

// unwatch is called with c.mu held.
func (c *Consumer) unwatch() {
	for inbox, cancel := range c.watched {
		cancel()
		delete(c.watched, inbox)
	}
}
