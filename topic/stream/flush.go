package stream

import (
	"context"

	"brokerd/topic"
)

// Flush waits until everything that was published before can be read, is refused, or ctx is done. Who published without a
// wish for an acknowledgement sees it when he asks for the stream's state on the same connection, as with nats-server.
func (s *Stream) Flush(ctx context.Context) {
	if !s.loaded.Load() {
		return // nothing was published
	}
	last, err := s.given()
	if err != nil || last == 0 || last <= s.durable() {
		return
	}
	if s.part.WaitDurable(ctx, int64(last)-1) == nil {
		_ = s.with(func(topic.Tail, *contents) error { return nil }) // it settles
	}
}
