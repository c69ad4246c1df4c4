package nats

import (
	"math"

	"brokerd/consumer/durable"
)

// outlet is the way from consumers, and from the API, to clients. It implements door.
type outlet struct{ *Server }

var _ door = outlet{}

// Send implements durable.Outlet.
func (o outlet) Send(d durable.Delivery) bool {
	m := &publication{subject: []byte(d.Subject), reply: []byte(d.Reply), header: d.Header, data: d.Data}
	to := o.table.Match(d.Inbox)
	if d.Group == "" {
		return o.spread(m, to, nil, true)
	}
	heard := false
	for _, q := range to.Queues {
		if q.Name == d.Group {
			heard = deliverToOne(q.Members, m, nil, true)
		}
	}
	for _, sub := range to.Plain { // who listens in on a queue group
		sub.deliver(m, nil)
	}
	return heard
}

// Listening implements durable.Outlet.
func (o outlet) Listening(inbox, group string) bool { return o.table.Interest(inbox, group) }

// Subscribed implements door.
func (o outlet) Subscribed(subject string) bool { return o.table.Subscribed(subject) }

// Room implements durable.Outlet: the least that one of the listeners has.
func (o outlet) Room(inbox string) int64 {
	room := int64(math.MaxInt64)
	to := o.table.Match(inbox)
	for _, sub := range to.Plain {
		room = min(room, sub.conn.out.room(inbox))
	}
	for _, q := range to.Queues {
		most := int64(math.MinInt64)
		for _, sub := range q.Members {
			most = max(most, sub.conn.out.room(inbox))
		}
		room = min(room, most)
	}
	return room
}

// Watch implements durable.Outlet.
func (o outlet) Watch(inbox string, ch chan<- struct{}) (cancel func()) {
	return o.table.Watchers.Watch(inbox, ch)
}

// Publish implements durable.Outlet.
func (o outlet) Publish(subject string, header, data []byte) {
	o.Server.Publish(subject, "", header, data)
}

// Answer implements door.
func (o outlet) Answer(subject, reply string, header, data []byte) {
	o.Server.Publish(subject, reply, header, data)
}

// wakeConsumers tells those who wait for a client to take more.
func (c *conn) wakeConsumers(inboxes map[string]struct{}) {
	for inbox := range inboxes {
		c.s.table.Watchers.Notify(inbox)
	}
}
