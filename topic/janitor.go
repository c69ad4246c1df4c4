package topic

import (
	"context"
	"errors"
	"time"

	"brokerd/log"
)

// Run applies retention, rolls segments by age and expires producers until ctx is done.
func (r *Registry) Run(ctx context.Context) error {
	tick := time.NewTicker(r.o.RetainEach)
	defer tick.Stop()
	said := make(map[*Partition]string) // the last complaint of each partition, so as not to repeat it
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.retain(ctx, said)
		}
	}
}

// retain makes one pass over all partitions.
func (r *Registry) retain(ctx context.Context, said map[*Partition]string) {
	next := make(map[*Partition]string)
	for _, t := range r.List() {
		for _, p := range t.Partitions() {
			if ctx.Err() != nil {
				return
			}
			did, err := p.retain(time.Now(), r.o.Defaults.ProducerIDExpiry)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, log.ErrClosed) {
				next[p] = err.Error()
				if said[p] != next[p] {
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
	clear(said)
	for p, complaint := range next {
		said[p] = complaint
	}
}
