// Package log keeps one partition's record batches in segment files: it appends, reads, commits, recovers, rolls,
// retains and compacts them. FORMAT.md draws every byte it writes.
//
// # Watermarks
//
// Start <= Stable <= Durable <= End, asserted whenever one moves (Bounds).
//
//   - Start: the oldest offset that may be read; moved by retention and Trim.
//   - Stable: below it every transaction is decided. Equal to Durable until transactions exist.
//   - Durable: below it everything is on disk (fdatasync done, directory synced for a new file), or, in an Async log,
//     written. Nothing above it is ever given to a reader or acknowledged.
//   - End: the next offset to be given out.
//
// # Write path
//
// Append assigns offsets, writes the batch into the active segment with one positional write, and returns at once. The
// Committer makes it durable: it syncs every dirty log, shares each sync among all its waiters, and moves Durable.
// WaitDurable returns when that happened, or with the log's final error.
//
// A failed sync, and a failed write whose effect on the file cannot be undone, are final (ErrFailed): the log takes no
// more appends until it is opened again, and nothing is retried. A write refused for lack of space (ErrNoSpace) is
// undone and may be tried again.
//
// # Read path
//
// Read finds the segment, asks its sparse index for a position, walks to the batch that holds the offset and returns a
// Range of the file: whole batches, all durable, each one checked against its CRC once per process before it is first
// given out. A damaged batch is withheld with a CorruptError that names its offsets; the batches around it are served.
//
// # Erased records
//
// Erase deletes single records: a bitmap beside the segments hides them from Read, which makes batches with some of them anew
// in memory and gives out all others as they lie in the file. Compact takes them off the disk.
//
// # Compaction
//
// Compact keeps the newest record of each key in the segments that are finished. It writes new ones beside them and swaps
// them in; offsets never change, and a reader finds the next batch behind every gap.
//
// # Locks
//
// One mutex per Log. It may be held across a buffered file write, or the opening of a file, never across a sync, a channel
// or a timer. Whoever syncs, renames or deletes files of a log holds its turn, a channel with room for one, taken before the
// mutex: so a flush, Trim, Retain and Close of one log follow each other, while appends and reads go on. Below Log.mu
// come the mutexes of Committer, Files and openFile, which are held for moments and never together.
package log
