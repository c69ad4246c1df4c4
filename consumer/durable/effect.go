package durable

// effect is something that a step asks the shell to do. They are done in their order.
type effect interface{ effect() }

// send delivers a message to a client.
type send struct {
	sequence uint64 // in the stream
	inbox    string
	reply    string // the ack subject
	pin      string // of the client, in a group with a pinned one
	settles  bool   // nobody acknowledges it: sent is done with
}

// status tells a client something.
type status struct {
	inbox string
	line  string // what follows NATS/1.0 in the header block, with its further lines
	reply string
}

// advise publishes an advisory.
type advise struct{ advisory advisory }

// settle tells that a message is done with for this consumer: the stream need not keep it for it.
type settle struct{ sequence uint64 }

// expire asks for the consumer's deletion: nobody has used it for too long.
type expire struct{}

func (send) effect()   {}
func (status) effect() {}
func (advise) effect() {}
func (settle) effect() {}
func (expire) effect() {}

func (m *machine) do(e effect)       { m.out = append(m.out, e) }
func (m *machine) advise(a advisory) { m.do(advise{a}) }

// take hands over what the last steps asked for. It is valid until the next take.
func (m *machine) take() []effect {
	out := m.out
	m.out, m.done = m.done[:0], out
	return out
}

// settled tells that a message is done with, if that makes a difference.
func (m *machine) settled(sequence uint64) {
	if m.keep {
		m.do(settle{sequence})
	}
}
