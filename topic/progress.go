package topic

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// progressEach is the time between two lines about a start that takes long.
const progressEach = 2 * time.Second

// progress says now and then how far the opening of the logs is, so that a long recovery is not taken for a dead process.
type progress struct {
	logger zerolog.Logger
	total  int

	mu     sync.Mutex
	opened int       // guarded by mu
	next   time.Time // guarded by mu: no line before it
}

func newProgress(logger zerolog.Logger, total int, now time.Time) *progress {
	return &progress{logger: logger, total: total, next: now.Add(progressEach)}
}

// add counts one opened log.
func (p *progress) add(now time.Time) {
	p.mu.Lock()
	p.opened++
	opened, due := p.opened, !now.Before(p.next)
	if due {
		p.next = now.Add(progressEach)
	}
	p.mu.Unlock()
	if due {
		p.logger.Info().Int("opened", opened).Int("total", p.total).Msg("opening the partitions, recovering those that need it")
	}
}
