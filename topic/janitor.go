package topic

import (
	"context"
	"errors"
	"time"

	"brokerd/log"
)

// retain makes one pass over all partitions.
func (r *Registry) retain(ctx context.Context, said *complaints) {
	defer said.endPass()
	for _, t := range r.List() {
		for _, p := range t.Partitions() {
			if ctx.Err() != nil {
				return
			}
			did, err := p.retain(time.Now(), r.o.Defaults.ProducerIDExpiry)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, log.ErrClosed) {
				if said.news(p, err) {
					r.o.Logger.Error().Err(err).Str("topic", t.name).Int32("partition", p.index).
						Msg("retention failed: old records are kept, it is tried again at every pass; check the disk")
				}
			}
			if did.Segments > 0 {
				r.o.Logger.Debug().Str("topic", t.name).Int32("partition", p.index).Int64("offset", did.Start).
					Int("segments", did.Segments).Int64("bytes", did.Bytes).
					Msg("retention deleted old segments; the offset is the new start")
			}
		}
	}
}
