package nats

import (
	"errors"

	"brokerd/topic/stream"
)

// ackSize is room for most acknowledgements.
const ackSize = 96

// store publishes a message into a stream, and acknowledges it on reply when it is durable, or refused. Header and data are
// copied before it returns. finished is called once, when it is decided what becomes of the message and the answer is
// on its way; until then its bytes are in flight. It does not wait for the disk.
func (a *api) store(s *stream.Stream, subject, reply string, header, data []byte, finished func()) {
	p := stream.Publication{Subject: subject, Header: header, Data: data, Reply: reply}
	if stream.IsFast(reply) {
		p.Flow = func(answer []byte) { a.door.Answer(reply, "", nil, answer) }
	}
	p.Done = func(r stream.Receipt, err error) {
		defer finished() // after the answer is on its way: when the broker stops it waits for that
		if reply != "" && !r.Silent && !s.Config().NoAck {
			a.door.Answer(reply, "", ackHeader(err), appendAck(make([]byte, 0, ackSize), s.Name(), a.server.domain, r, err))
		}
	}
	s.Publish(p)
}

// ackHeader marks an answer that asks the publisher to slow down.
func ackHeader(err error) []byte {
	if err != nil && errors.Is(err, stream.ErrTooManyRequests) {
		return []byte("NATS/1.0 429 Too Many Requests\r\n\r\n")
	}
	return nil
}
