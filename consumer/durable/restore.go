package durable

import "context"

// Restore makes a consumer of what Info told about one, which goes on behind the last message of which everything before was
// acknowledged: what was pending is delivered again. Durable when it returns. Errors: *stream.Error.
func (cs *Consumers) Restore(streamName string, i Info) error {
	c, err := cs.Create(streamName, i.Config, CreateOnly)
	if err != nil {
		return err
	}
	next := i.AckFloor.Stream + 1
	s := start{next: next}
	if config := c.config(); config.DeliverPolicy == DeliverLastPerSubject {
		state, err := c.stream.State()
		if err != nil {
			return streamError(err)
		}
		s = lastPerSubject(c.stream, config.filters(), state.Last, next)
	}
	if err := c.moveTo(s)(context.Background()); err != nil {
		return streamError(err)
	}
	return nil
}
