package log

import (
	"time"

	"brokerd/log/vfs"
)

// Durability says what an acknowledgement waits for.
type Durability uint8

const (
	// Sync acknowledges after fdatasync.
	Sync Durability = iota
	// Async acknowledges, and shows to readers, after the write; the committer syncs each CommitterOptions.AsyncInterval.
	// A power failure may lose what came since, and then give its offsets out again; a crash of the process alone may not.
	Async
)

// Config holds the settings of one log that may change while it is open (Log.SetConfig).
type Config struct {
	SegmentBytes   int64         // roll the active segment before it would grow past this
	SegmentAge     time.Duration // roll the active segment when its first batch arrived this long ago; 0 = never
	IndexInterval  int           // bytes of log per entry of the sparse index
	RetentionBytes int64         // drop the oldest segments while the rest is at least this large; < 0 = never
	RetentionAge   time.Duration // drop segments whose last batch arrived this long ago; < 0 = never
	Durability     Durability
}

// DefaultConfig is Kafka's defaults for a topic.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:   1 << 30,
		SegmentAge:     7 * 24 * time.Hour,
		IndexInterval:  4096,
		RetentionBytes: -1,
		RetentionAge:   7 * 24 * time.Hour,
	}
}

// withLimits bounds the settings by what the format can hold.
func (c Config) withLimits() Config {
	if c.SegmentBytes <= 0 || c.SegmentBytes > maxSegment {
		c.SegmentBytes = maxSegment
	}
	c.IndexInterval = max(c.IndexInterval, 0)
	return c
}

// Options is what a log is opened with.
type Options struct {
	FS         vfs.FS
	Dir        string     // made if absent; the log owns everything in it
	Committer  *Committer // shared by all logs of the process
	Files      *Files     // shared, bounded cache of open segments
	Config     Config
	Projection Projection // may be nil
	// OnDamage, if set, is called once for each damaged range that a reader meets, without the log's lock held. What Open
	// finds is in its Recovery instead.
	OnDamage func(CorruptError)
}

// Projection is state that follows from the batches of a log and lives beside it, such as producer sequences. The log
// keeps snapshots of it, so that opening replays only what came after the newest one. Its methods are called during
// Open, and during Append, Roll and Close by the goroutine that made the call.
type Projection interface {
	// Snapshot encodes the state as it is after every batch appended so far.
	Snapshot() []byte
	// Restore replaces the state by a snapshot; nil empties it. After an error the log tries an older snapshot.
	Restore(snapshot []byte) error
	// Replay applies one batch that Open found after the snapshot. Only its header and, for control batches, its
	// records are valid.
	Replay(b Batch)
}
