package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// handler serves one connection until the client goes away, breaks the protocol, or ctx is done: then it takes no
// further request, answers those it has taken, and returns. It closes the connection. Its error has been logged.
type handler func(ctx context.Context, c net.Conn) error

// listener accepts the connections of one front door.
type listener struct {
	net.Listener
	serve  handler
	seats  *seats        // shared with the other front doors
	drain  time.Duration // for handlers to return after ctx is done
	logger zerolog.Logger

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// acceptPause is the longest wait after an accept that failed for want of something, such as open files.
const acceptPause = time.Second

// noticePause is the shortest time between two messages about the same trouble with new connections.
const noticePause = 10 * time.Second

// bind opens the port of a front door. Connections are accepted by run.
func bind(ctx context.Context, address string) (net.Listener, error) {
	c := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable:   true,
		Idle:     30 * time.Second,
		Interval: 10 * time.Second,
		Count:    6,
	}}
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

func newListener(l net.Listener, serve handler, room *seats, drain time.Duration, logger zerolog.Logger) *listener {
	return &listener{Listener: l, serve: serve, seats: room, drain: drain, logger: logger, open: map[net.Conn]struct{}{}}
}

// run accepts connections until ctx is done, each served by a goroutine of its own, and returns when they all have
// ended: by themselves, or by having their sockets closed when the drain time is over.
func (l *listener) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var served sync.WaitGroup
	err := l.acceptAll(ctx, &served)
	defer time.AfterFunc(l.drain, l.closeAll).Stop()
	served.Wait()
	return err
}

func (l *listener) acceptAll(ctx context.Context, served *sync.WaitGroup) error {
	full, failing := notice{}, notice{}
	pause := time.Duration(0)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case isShortage(err):
			if n, ok := failing.due(time.Now()); ok {
				l.logger.Error().Err(err).Int("times", n).Msg("cannot accept a connection; the open ones are served. " +
					"If it says too many open files, raise the limit (ulimit -n) or lower limits.connections")
			}
			pause = min(max(2*pause, 5*time.Millisecond), acceptPause)
			wait(ctx, pause)
			continue
		case err != nil:
			return fmt.Errorf("accept connections on %s: %w", l.Addr(), err)
		}
		pause = 0
		if !l.add(c) {
			if n, ok := full.due(time.Now()); ok {
				l.logger.Warn().Stringer("peer", c.RemoteAddr()).Int("limit", l.seats.most).Int("times", n).Msg(
					"closed a new connection: as many are open as limits.connections allows; the open ones are served")
			}
			c.Close()
			continue
		}
		served.Go(func() {
			defer l.remove(c)
			_ = l.serve(ctx, c) // has been logged
		})
	}
}

func (l *listener) add(c net.Conn) bool {
	if !l.seats.take() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = struct{}{}
	return true
}

func (l *listener) remove(c net.Conn) {
	c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	l.seats.give()
}

// seats is how many connections there may be, through all front doors.
type seats struct {
	most  int
	taken atomic.Int64
}

// take takes one; false when there is none left.
func (s *seats) take() bool {
	if s.taken.Add(1) > int64(s.most) {
		s.taken.Add(-1)
		return false
	}
	return true
}

func (s *seats) give() { s.taken.Add(-1) }

// closeAll ends the connections that are still open, so that their handlers return.
func (l *listener) closeAll() {
	l.mu.Lock()
	late := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, c := range late {
		c.Close()
	}
	l.logger.Warn().Int("connections", len(late)).Msg("closed the connections that were not done within shutdown.drain")
}

// isShortage says that an accept failed for a reason that passes: the next one may succeed.
func isShortage(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED,
		syscall.EINTR, syscall.EPROTO, syscall.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// wait returns after d, or when ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// notice keeps a message that repeats from flooding the log.
type notice struct {
	last  time.Time
	times int // since last
}

// due counts one occurrence, and says whether to write the message now and how many occurrences it stands for.
func (n *notice) due(now time.Time) (times int, ok bool) {
	n.times++
	if !n.last.IsZero() && now.Sub(n.last) < noticePause {
		return 0, false
	}
	times, n.last, n.times = n.times, now, 0
	return times, true
}
