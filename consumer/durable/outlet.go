package durable

// Outlet is the clients of the front door. Its methods do not wait, and may be called from any goroutine.
type Outlet interface {
	// Send delivers to one listener on d.Inbox (in d.Group, if set) and says whether there was one. Whoever gets it sees
	// d.Subject as the message's subject.
	Send(d Delivery) bool
	// Listening says whether somebody listens on inbox; with a group, whether a member of that queue group does.
	Listening(inbox, group string) bool
	// Room is how many bytes can be sent to inbox before its connection has more waiting than it should: negative or zero
	// when the sender is to wait for Watch. It is large when nobody listens.
	Room(inbox string) int64
	// Watch sends to ch (which has room for one value, without blocking) whenever somebody begins or ends to listen on
	// inbox, and when there is room again, until cancel is called.
	Watch(inbox string, ch chan<- struct{}) (cancel func())
	// Publish publishes for the broker: advisories, metrics, answers. They are stored if a stream has the subject.
	Publish(subject string, header, data []byte)
}

// Delivery is a message, or a status, on its way to a client. Its memory is copied before Send returns.
type Delivery struct {
	Inbox, Group string
	Subject      string // that the client sees; Inbox for a status
	Reply        string // where acknowledgements go; "" for none
	Header       []byte // the header block; nil for none
	Data         []byte
}
