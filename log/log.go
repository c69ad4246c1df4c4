package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Log is one partition's record batches. Its methods may be called from several goroutines; Append, Roll and Close must
// not run concurrently with each other when the log has a Projection.
type Log struct {
	o Options

	// turn is held, by a value in the channel, by whoever syncs, renames or deletes files of this log: one flush, Trim,
	// Retain or Close at a time. It is taken before mu, never while holding it.
	turn chan struct{}

	// compacting is held likewise by Compact as long as it runs, and by Close. It is taken before turn.
	compacting chan struct{}

	mu        sync.Mutex
	state     state
	config    Config
	bounds    Bounds
	segments  []*segment // ordered by base; the last one is active
	visible   mark       // what readers may see: where Durable is in the files
	pending   pending
	recovery  checkpoint // recovery point and epochs, as of the last checkpoint or about to go into the next
	dirtyFrom int64      // compaction has dealt with everything below it
	erased    erasures
	chores    chores
	err       error // final
	moved     chan struct{}
	watchers  map[*watcher]struct{}
}

// state is a log's life.
type state uint8

const (
	open    state = iota
	closing       // no more appends; waiting for the last sync
	closed
)

// mark is an offset and where it is: at pos in the segment.
type mark struct {
	offset  int64
	segment *segment
	pos     int64
}

// watcher is one call of Watch.
type watcher struct{ ch chan<- struct{} }

// Bounds are a log's watermarks: Start <= Stable <= Durable <= End (see the package comment).
type Bounds struct {
	Start, Stable, Durable, End int64
}

func (b Bounds) valid() bool {
	return b.Start <= b.Stable && b.Stable <= b.Durable && b.Durable <= b.End
}

// Appended is where a batch went.
type Appended struct {
	Base, Last int64 // offsets of its first and last record
}

// Open opens the log in o.Dir, making it if absent, and recovers it if the last stop was not clean. It starts no
// goroutine. Errors: ErrNewerFormat, and those of the file system. Damaged data is no error: see Recovery.
func Open(o Options) (*Log, Recovery, error) {
	l := &Log{
		o:          o,
		turn:       make(chan struct{}, 1),
		compacting: make(chan struct{}, 1),
		config:     o.Config.withLimits(),
		watchers:   make(map[*watcher]struct{}),
	}
	began := time.Now()
	r, err := l.recover()
	if err != nil {
		l.forgetFiles()
		return nil, r, fmt.Errorf("open log %s: %w", path.Base(o.Dir), err)
	}
	l.dirtyFrom = readCompacted(o.FS, o.Dir)
	r.Took = time.Since(began)
	return l, r, nil
}

// active is the segment that is appended to.
func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// usableLocked returns why the log takes no appends.
func (l *Log) usableLocked() error {
	if l.state != open {
		return ErrClosed
	}
	return l.err
}

// fail makes the log's error final.
func (l *Log) fail(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failLocked(cause)
}

func (l *Log) failLocked(cause error) error {
	if l.err == nil {
		l.err = fmt.Errorf("%w: %w", ErrFailed, cause)
		l.markFailedLocked()
		l.notifyLocked()
	}
	return l.err
}

// markFailedLocked leaves a note for the next Open: the system's memory may show it bytes that are not on the disk, and
// that no sync would write any more. The note need not be durable: after a power failure that memory is gone.
func (l *Log) markFailedLocked() {
	if file, err := l.o.FS.Create(path.Join(l.o.Dir, failedName)); err == nil {
		_ = file.Close()
	}
}

// setBoundsLocked moves watermarks and wakes whoever waits for that.
func (l *Log) setBoundsLocked(b Bounds) {
	old := l.bounds
	if !b.valid() || b.Start < old.Start || b.Durable < old.Durable || b.End < old.End {
		panic(fmt.Sprintf("log: %s: watermarks from %+v to %+v", l.o.Dir, old, b))
	}
	l.bounds = b
	if b.Start != old.Start || b.Durable != old.Durable {
		l.notifyLocked()
	}
}

// setVisibleLocked moves Durable, if m is further on.
func (l *Log) setVisibleLocked(m mark) {
	if m.offset < l.visible.offset || m == l.visible {
		return
	}
	l.visible = m
	b := l.bounds
	b.Stable, b.Durable = m.offset, m.offset
	l.setBoundsLocked(b)
}

// endLocked is the mark behind the last batch.
func (l *Log) endLocked() mark {
	s := l.active()
	return mark{l.bounds.End, s, s.size}
}

// notifyLocked wakes every waiter and watcher.
func (l *Log) notifyLocked() {
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
	for w := range l.watchers {
		select {
		case w.ch <- struct{}{}:
		default:
		}
	}
}

// Watch sends (without blocking) to ch after every move of Start or Durable, a change of settings, a failure or a close.
// The caller uses a channel with room for one value, checks its condition after Watch returned, and calls cancel when
// done.
func (l *Log) Watch(ch chan<- struct{}) (cancel func()) {
	w := &watcher{ch}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers[w] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, w)
	}
}

// WaitDurable returns when the record at offset may be acknowledged: when it is below Durable. In an Async log that is
// at once. Errors: ErrFailed, ErrClosed, or ctx's.
func (l *Log) WaitDurable(ctx context.Context, offset int64) error {
	for {
		moved, err := l.durable(offset)
		if moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// durable says that offset is durable (nil, nil), never will be (an error), or returns what to wait for.
func (l *Log) durable(offset int64) (moved <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case offset < l.bounds.Durable:
		return nil, nil
	case l.err != nil:
		return nil, l.err
	case l.state == closed:
		return nil, ErrClosed
	}
	return l.movedLocked(), nil
}

// movedLocked is closed by the next notifyLocked.
func (l *Log) movedLocked() <-chan struct{} {
	if l.moved == nil {
		l.moved = make(chan struct{})
	}
	return l.moved
}

// Bounds returns the watermarks. In an Async log, Durable is where the last write ended: what may be read and
// acknowledged, not what is on the disk.
func (l *Log) Bounds() Bounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bounds
}

// SetConfig replaces the settings. A log that becomes Async shows at once what was written; one that becomes Sync never
// takes back what it showed.
func (l *Log) SetConfig(c Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config = c.withLimits()
	if l.pending.queued == queued && l.config.Durability == Sync {
		l.o.Committer.add(l, Sync) // it may be waiting for the interval
	}
	if l.config.Durability == Async {
		l.setVisibleLocked(l.endLocked())
	}
	l.notifyLocked()
}

// Err is the final error of a failed log, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Damaged lists the damage found so far, oldest offsets first.
func (l *Log) Damaged() []CorruptError {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []CorruptError
	for _, s := range l.segments {
		all = append(all, s.damage...)
	}
	return all
}

// Size is the bytes of all batches on disk.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sizeLocked()
}

func (l *Log) sizeLocked() (n int64) {
	for _, s := range l.segments {
		n += s.size
	}
	return n
}

// Close syncs, writes indexes and snapshot, marks the log clean and closes its files. A failed log is only closed, and
// its error returned.
func (l *Log) Close() error {
	if err := l.beginClose(); err != nil {
		return err
	}
	defer l.endClose()
	return l.finalFlush()
}

// Remove closes the log without a last sync and deletes its directory.
func (l *Log) Remove() error {
	if err := l.beginClose(); err != nil {
		return err
	}
	l.endClose()
	if err := l.o.FS.RemoveAll(l.o.Dir); err != nil {
		return fmt.Errorf("remove log: %w", err)
	}
	return l.o.FS.SyncDir(path.Dir(l.o.Dir))
}

// beginClose lets nothing be appended any more and waits until nobody works on the files: Compact ends when it notices.
func (l *Log) beginClose() error {
	l.mu.Lock()
	if l.state != open {
		l.mu.Unlock()
		return ErrClosed
	}
	l.state = closing
	l.mu.Unlock()
	l.compacting <- struct{}{}
	l.turn <- struct{}{}
	return nil
}

func (l *Log) endClose() {
	l.mu.Lock()
	l.state = closed
	l.notifyLocked()
	l.mu.Unlock()
	l.forgetFiles()
	<-l.turn
	<-l.compacting
}

// forgetFiles lets go of every file; one that a Range still reads is closed by Range.Close.
func (l *Log) forgetFiles() {
	l.mu.Lock()
	segments := slices.Clone(l.segments)
	var pins []*openFile
	for _, s := range segments {
		if s.pin != nil {
			pins = append(pins, s.pin)
			s.pin = nil
		}
	}
	l.mu.Unlock()
	for _, p := range pins {
		l.o.Files.release(p)
	}
	for _, s := range segments {
		l.o.Files.forget(s)
	}
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isFull says that the disk, or our share of it, is full: a condition that passes.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
