package broker

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// parts runs the components of a broker in one group. Each has its own end, so that they can be stopped in order; the
// first one that fails, or ends unasked, ends them all.
type parts struct {
	group  *errgroup.Group
	ending context.Context // done when the broker was told to stop, or a part failed
	base   context.Context // the values of the broker's context, without its end
}

func newParts(ctx context.Context) *parts {
	g, ending := errgroup.WithContext(ctx)
	return &parts{group: g, ending: ending, base: context.WithoutCancel(ctx)}
}

// part is one running component.
type part struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

var errEndedUnasked = errors.New("broker: a part ended by itself")

// run starts a component, whose run function returns when its context is done.
func (p *parts) run(run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(p.base)
	started := &part{cancel: cancel, ended: make(chan struct{})}
	p.group.Go(func() error {
		defer close(started.ended)
		err := run(ctx)
		if err == nil && ctx.Err() == nil {
			err = errEndedUnasked
		}
		return err
	})
	return started
}

// stop ends a component and returns when it has ended. A nil part was never started.
func (p *part) stop() {
	if p == nil {
		return
	}
	p.cancel()
	<-p.ended
}
