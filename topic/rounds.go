package topic

import (
	"context"
	"time"
)

// rounds calls pass at every interval until ctx is done.
func rounds(ctx context.Context, each time.Duration, pass func(context.Context, *complaints)) error {
	tick := time.NewTicker(each)
	defer tick.Stop()
	said := newComplaints()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			pass(ctx, said)
		}
	}
}

// complaints remembers what is wrong with each partition from one pass to the next, so that it is said once.
type complaints struct {
	last, now map[*Partition]string
}

func newComplaints() *complaints { return &complaints{now: make(map[*Partition]string)} }

// news takes note of an error and says whether the last pass did not have it.
func (c *complaints) news(p *Partition, err error) bool {
	c.now[p] = err.Error()
	return c.last[p] != c.now[p]
}

func (c *complaints) endPass() {
	c.last, c.now = c.now, make(map[*Partition]string)
}
