package consumer

import (
	"context"
	"time"
)

// sweepEach expires offsets from time to time, until ctx is done.
func (g *Groups) sweepEach(ctx context.Context) {
	ticker := time.NewTicker(g.settings.SweepEach)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			g.sweep(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// sweep forgets offsets that expired or whose topic is gone, and then groups in which nothing is left.
func (g *Groups) sweep(now time.Time) {
	for _, e := range g.all() {
		gone, unused := g.stale(e, now)
		if gone > 0 {
			g.log.Info().Str("group", e.id).Int("offsets", gone).
				Msg("offsets of a group were deleted: they expired, or their topic was deleted")
		}
		if unused {
			g.removeUnused(e)
		}
	}
}

// stale drops what may go of e, and says how many offsets that were and whether the group may go. While a write of its
// is queued nothing goes, for it may be a newer commit to the same place.
func (g *Groups) stale(e *entry, now time.Time) (offsets int, unused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead || e.queued > 0 {
		return 0, false
	}
	status := e.group.status()
	var gone []TopicPartition
	for name, partitions := range e.offsets {
		t, ok := g.topics.Find(name)
		for n, s := range partitions {
			if !ok || s.topic != t.ID || s.expired(status, g.settings.Retention, now) {
				gone = append(gone, TopicPartition{name, n})
			}
		}
	}
	if len(gone) > 0 {
		g.dropOffsets(e, gone)
	}
	return len(gone), e.vacant()
}
