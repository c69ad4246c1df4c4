package nats

const (
	ackPrefix  = "$JS.ACK."
	flowPrefix = "$JS.FC."
)

// ack passes an acknowledgement on. When it has a reply subject the client waits for it to be applied, and is told by an
// empty message; it is told nothing when there is no such consumer.
func (a *api) ack(r *request) {
	a.consumers.Ack(r.subject, r.reply, r.body, func(err error) {
		if err == nil && r.reply != "" {
			a.door.Answer(r.reply, "", nil, nil)
		}
	})
}
