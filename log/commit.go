package log

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// CommitterOptions are the committer's settings; zero values take the defaults named below.
type CommitterOptions struct {
	Workers       int           // logs synced at the same time; 8
	SyncFSFrom    int           // this many dirty logs at once are made durable by one syncfs; 64
	AsyncInterval time.Duration // between syncs of an Async log; 1s
	// Observe, if set, is told of every sync: how long it took and how many logs shared it.
	Observe func(took time.Duration, logs int)
}

// Committer makes appended batches durable: group commit for all logs of the process. Run it once. Its logs lie on
// one file system, since one syncfs stands for many of them.
//
// A log that has something to sync is queued once, however much is appended to it. A worker takes it, syncs everything
// written so far, and so serves all waiters of the log with one sync; what is appended meanwhile queues it again.
//
// A syncfs that fails does not say for which files: from then on every log that is written to fails.
type Committer struct {
	o     CommitterOptions
	ready chan struct{} // has a value while the queue is not empty

	mu     sync.Mutex
	queue  []*Log
	async  []*Log // to be queued at the next interval
	chores []*Log // with chores to be done then
	broken error  // a syncfs failed
}

// NewCommitter makes a committer; it does nothing until Run.
func NewCommitter(o CommitterOptions) *Committer {
	if o.Workers <= 0 {
		o.Workers = 8
	}
	if o.SyncFSFrom <= 0 {
		o.SyncFSFrom = 64
	}
	if o.AsyncInterval <= 0 {
		o.AsyncInterval = time.Second
	}
	return &Committer{o: o, ready: make(chan struct{}, 1)}
}

// Run syncs dirty logs until ctx is done, then once more, and returns nil.
func (c *Committer) Run(ctx context.Context) error {
	var workers errgroup.Group
	for range c.o.Workers {
		workers.Go(func() error {
			c.work(ctx)
			return nil
		})
	}
	workers.Go(func() error {
		c.tick(ctx)
		return nil
	})
	_ = workers.Wait() // they return nil
	c.callLater()
	c.queueAsync()
	for logs := c.take(); len(logs) > 0; logs = c.take() {
		c.commit(logs)
	}
	return nil
}

// add queues a log that has become dirty. It is called with the log's lock held.
func (c *Committer) add(l *Log, d Durability) {
	c.mu.Lock()
	if d == Async {
		c.async = append(c.async, l)
		c.mu.Unlock()
		return
	}
	c.queue = append(c.queue, l)
	c.mu.Unlock()
	c.wake()
}

func (c *Committer) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// queueAsync queues the Async logs that became dirty since the last call.
func (c *Committer) queueAsync() {
	c.mu.Lock()
	c.queue = append(c.queue, c.async...)
	c.async = nil
	c.mu.Unlock()
	c.wake()
}

// later lists a log for the next interval. It is called with the log's lock held.
func (c *Committer) later(l *Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chores = append(c.chores, l)
}

// callLater calls the logs that were listed since the last call.
func (c *Committer) callLater() {
	c.mu.Lock()
	logs := c.chores
	c.chores = nil
	c.mu.Unlock()
	for _, l := range logs {
		l.callLater()
	}
}

func (c *Committer) tick(ctx context.Context) {
	t := time.NewTicker(c.o.AsyncInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			c.callLater()
			c.queueAsync()
		case <-ctx.Done():
			return
		}
	}
}

func (c *Committer) work(ctx context.Context) {
	for {
		select {
		case <-c.ready:
			c.commit(c.take())
		case <-ctx.Done():
			return
		}
	}
}

// take removes from the queue what one sync is to cover: one log, or all when there are many. If something is left,
// another worker is woken.
func (c *Committer) take() []*Log {
	c.mu.Lock()
	n := min(len(c.queue), 1)
	if len(c.queue) >= c.o.SyncFSFrom {
		n = len(c.queue)
	}
	logs := c.queue[:n:n]
	c.queue = c.queue[n:]
	more := len(c.queue) > 0
	c.mu.Unlock()
	if more {
		c.wake()
	}
	return logs
}

// commit makes logs durable.
func (c *Committer) commit(logs []*Log) {
	var flushes []*flush
	for _, l := range logs {
		if f := l.begin(); f != nil {
			flushes = append(flushes, f)
		}
	}
	if len(flushes) == 0 {
		return
	}
	began := time.Now()
	c.sync(flushes)
	if c.o.Observe != nil {
		c.o.Observe(time.Since(began), len(flushes))
	}
	for _, f := range flushes {
		f.finish()
	}
}

// sync syncs the flushes' files one by one, or all at once when they are many, and wakes the waiters.
func (c *Committer) sync(flushes []*flush) {
	err, whole := c.failure(), len(flushes) >= c.o.SyncFSFrom
	if err == nil && whole {
		if err = syncAll(flushes); err != nil {
			err = c.fail(fmt.Errorf("sync file system: %w", err))
		}
	}
	for _, f := range flushes {
		if err != nil || whole {
			f.end(err)
		} else {
			f.end(f.sync())
		}
	}
}

func (c *Committer) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (c *Committer) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = cmp.Or(c.broken, err)
	return c.broken
}

// syncAll makes all flushes durable by one syncfs. It goes through a file that is open already, so that it cannot fail for
// want of a descriptor: that would look like a failed sync, which is final.
func syncAll(flushes []*flush) error {
	for _, f := range flushes {
		if len(f.files) > 0 {
			return f.files[0].SyncFS()
		}
	}
	o := flushes[0].log.o
	return o.FS.SyncFS(o.Dir)
}
