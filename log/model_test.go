package log

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log/vfs/memfs"
)

// TestModel runs random operations on a few logs of one process, with crashes, kills, faults and restarts, and compares
// them with a model that is a map. It checks that
//
//   - everything that was durable is there after a crash, at its offset, with its bytes, unless it was trimmed;
//   - what is there was appended, at that offset;
//   - no offset that was ever readable is given out twice, and the watermarks never move back;
//   - the projection is what follows from the batches;
//   - no file stays open, and the cache keeps its bound.
//
// A failure prints the seed; go test -rapid.seed repeats it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append,
			"commit": m.commit,
			"roll":   m.roll,
			"trim":   m.trim,
			"retain": m.retain,
			"read":   m.read,
			"full":   m.full,
			"fault":  m.fault,
			"crash":  m.crash,
			"kill":   m.kill,
			"stop":   m.stop,
			"":       m.check,
		})
		m.stop(t)
	})
}

// modelLog is what one log should hold.
type modelLog struct {
	*Log
	o       Options
	table   *countTable
	batches map[int64]Batch // by base offset, as appended
	bounds  Bounds          // seen last
	synced  int64           // below it nothing may be lost
	trimmed countTable      // what the projection remembers of batches below Start
	found   map[int64]bool  // the batches that were there when the log was opened
	from    int64           // End when the log was opened
	seen    int64           // no reader has seen more
	holes   map[int64]bool  // first offsets of damage that a crash left
}

type model struct {
	fs    *memfs.FS
	files *Files
	c     *Committer
	logs  []*modelLog
	now   time.Time
	seed  uint64
}

func newModel(t *rapid.T) *model {
	m := &model{fs: memfs.New(), now: time.Now(), seed: rapid.Uint64().Draw(t, "seed")}
	for i := range 3 {
		config := Config{
			SegmentBytes:   rapid.Int64Range(300, 3000).Draw(t, "segment"),
			IndexInterval:  rapid.IntRange(0, 600).Draw(t, "interval"),
			RetentionBytes: rapid.Int64Range(-1, 5000).Draw(t, "retention"),
			RetentionAge:   time.Hour,
		}
		if i == 2 {
			config.Durability = Async
		}
		l := &modelLog{batches: map[int64]Batch{}, holes: map[int64]bool{}, table: &countTable{}}
		l.o = Options{FS: m.fs, Dir: fmt.Sprint("t/", i), Config: config, Projection: l.table}
		m.logs = append(m.logs, l)
	}
	if err := errors.Join(m.fs.MkdirAll("t"), m.fs.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	return m
}

// start opens the logs as a new process would.
func (m *model) start(t *rapid.T) {
	m.files, m.c = NewFiles(2), NewCommitter(CommitterOptions{SyncFSFrom: 3})
	for i, l := range m.logs {
		*l.table = countTable{}
		l.o.FS, l.o.Files, l.o.Committer = m.fs, m.files, m.c
		log, r, err := Open(l.o)
		if err != nil {
			t.Fatal("open:", err)
		}
		t.Logf("log %d: %+v %+v", i, r, log.Bounds())
		l.Log = log
		if r.Checkpoint != nil {
			t.Fatal("checkpoint lost:", r.Checkpoint)
		}
		l.compare(t, r)
	}
}

// compare reads a log that was just opened, checks it and makes the model forget what was lost.
func (l *modelLog) compare(t *rapid.T, r Recovery) {
	b := l.Bounds()
	if b.Start < l.bounds.Start || b.Durable < l.synced || b.End != b.Durable {
		t.Fatalf("opened with %+v, before %+v, synced %d", b, l.bounds, l.synced)
	}
	for _, d := range r.Damaged {
		if d.First < l.synced && !l.holes[d.First] {
			t.Fatalf("damage in what was synced up to %d: %v", l.synced, &d)
		}
		l.holes[d.First] = true // a batch that was never synced, of which too much is left to be taken for torn
	}
	l.found = map[int64]bool{}
	l.trimmed = *l.table
	for _, batch := range l.readFrom(t, b.Start) {
		l.found[batch.BaseOffset()] = true
		l.trimmed.count--
		l.trimmed.sum -= batch.BaseOffset()
	}
	if l.trimmed.count < 0 || l.trimmed.sum < 0 || l.trimmed.sum > l.trimmed.count*b.Start {
		t.Fatalf("projection %v: %v without the batches that are there", l.table, l.trimmed)
	}
	l.from = b.End
	for base, batch := range l.batches {
		switch {
		case l.found[base]:
		case base >= l.synced:
			delete(l.batches, base)
		case batch.LastOffset() >= b.Start:
			t.Fatalf("batch %d is lost, synced up to %d", base, l.synced)
		}
	}
	l.bounds = Bounds{Start: b.Start} // what was not synced may be given out again
	l.synced = b.Durable
}

// readFrom reads everything from offset on, in ranges of any size, and checks it.
func (l *modelLog) readFrom(t *rapid.T, offset int64) (all []Batch) {
	for {
		r, err := l.Read(offset, rapid.Int64Range(1, 2000).Draw(t, "max"))
		var corrupt *CorruptError
		if errors.As(err, &corrupt) && l.holes[corrupt.First] {
			offset = corrupt.Last + 1
			continue
		}
		if err != nil {
			t.Fatalf("read %d: %v", offset, err)
		}
		raw, err := r.ReadAll(nil)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 {
			return all
		}
		for len(raw) > 0 {
			var b Batch
			if b, raw, err = ParseBatch(raw); err != nil {
				t.Fatal(err)
			}
			if want := l.batches[b.BaseOffset()]; !bytes.Equal(b, want) {
				t.Fatalf("batch at %d is not the one that was appended", b.BaseOffset())
			}
			all = append(all, b)
			offset = b.LastOffset() + 1
		}
		if offset != r.Next {
			t.Fatalf("range ends with %d, says %d", offset, r.Next)
		}
		l.seen = max(l.seen, offset)
	}
}

func (m *model) pick(t *rapid.T) *modelLog {
	return m.logs[rapid.IntRange(0, len(m.logs)-1).Draw(t, "log")]
}

// alive keeps what a call returned from a log that has failed out of the test.
func alive(t *rapid.T, l *modelLog, err error) bool {
	if err != nil && !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	return err == nil
}

func (m *model) append(t *rapid.T) {
	l := m.pick(t)
	for range rapid.IntRange(1, 8).Draw(t, "batches") {
		fill := rapid.SampledFrom([]byte{0, 1, 'x'}).Draw(t, "fill")
		var bld Builder
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			bld.Add(Record{Timestamp: rapid.Int64Range(0, 100).Draw(t, "time"), Value: bytes.Repeat([]byte{fill}, rapid.IntRange(0, 300).Draw(t, "size"))})
		}
		b, err := bld.Build()
		if err != nil {
			t.Fatal(err)
		}
		end := l.Bounds().End
		a, err := l.Append(b)
		if errors.Is(err, ErrTooLarge) {
			continue
		}
		if !alive(t, l, err) {
			return
		}
		if a.Base != end || a.Base < l.seen {
			t.Fatalf("appended at %d, end was %d, readers saw %d", a.Base, end, l.seen)
		}
		if _, taken := l.batches[a.Base]; taken {
			t.Fatalf("offset %d given out twice", a.Base)
		}
		l.batches[a.Base] = slices.Clone(b)
		l.table.Replay(b)
	}
}

func (m *model) commit(t *rapid.T) {
	if rapid.Bool().Draw(t, "async") {
		m.c.queueAsync()
	}
	if rapid.Bool().Draw(t, "append meanwhile") {
		m.during(func(op memfs.Op) bool { return op.Kind == memfs.Sync || op.Kind == memfs.SyncFS }, func() { m.append(t) })
	}
	m.c.commit(m.c.take())
	m.fs.Fail(nil)
	m.noteSynced()
}

// during runs f before the first operation that is meant. No lock is held while a log syncs, so f may use the logs.
func (m *model) during(meant func(memfs.Op) bool, f func()) {
	m.fs.Fail(func(op memfs.Op) error {
		if meant(op) {
			m.fs.Fail(nil)
			f()
		}
		return nil
	})
}

// noteSynced remembers what may not be lost any more: what a waiter of a Sync log was told.
func (m *model) noteSynced() {
	for _, l := range m.logs {
		if l.o.Config.Durability == Sync {
			l.synced = l.Log.bounds.Durable // without its lock, which an interrupted operation holds
		}
	}
}

func (m *model) roll(t *rapid.T) {
	l := m.pick(t)
	alive(t, l, l.Roll())
}

func (m *model) trim(t *rapid.T) {
	l := m.pick(t)
	b := l.Bounds()
	to := rapid.Int64Range(b.Start, b.Durable).Draw(t, "to")
	if alive(t, l, l.Trim(to)) && l.Bounds().Start != to {
		t.Fatalf("trimmed to %d: %+v", to, l.Bounds())
	}
}

func (m *model) retain(t *rapid.T) {
	l := m.pick(t)
	age := rapid.SampledFrom([]time.Duration{0, 2 * time.Hour}).Draw(t, "age")
	_, err := l.Retain(m.now.Add(age))
	alive(t, l, err)
}

func (m *model) read(t *rapid.T) {
	l := m.pick(t)
	b := l.Bounds()
	l.readFrom(t, rapid.Int64Range(b.Start, b.Durable).Draw(t, "from"))
}

// full makes the disk full for one append.
func (m *model) full(t *rapid.T) {
	l := m.pick(t)
	m.fs.Fail(memfs.From(memfs.Write, "*.log", 1, &memfs.ShortWrite{N: rapid.IntRange(0, 70).Draw(t, "short"), Err: syscall.ENOSPC}))
	before := l.Bounds()
	_, err := l.Append(m.small(t))
	m.fs.Fail(nil)
	if err == nil || errors.Is(err, ErrFailed) != (l.Err() != nil) {
		t.Fatal("append to a full disk:", err)
	}
	if l.Bounds() != before {
		t.Fatalf("a failed append moved %+v to %+v", before, l.Bounds())
	}
}

func (m *model) small(t *rapid.T) Batch {
	b, err := (&Builder{}).build(Record{Value: []byte("small")})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Builder) build(r Record) (Batch, error) {
	b.Add(r)
	return b.Build()
}

// fault lets a sync fail. The log must go on to be readable, and take nothing more.
func (m *model) fault(t *rapid.T) {
	kind := rapid.SampledFrom([]memfs.Kind{memfs.Sync, memfs.SyncDir, memfs.Truncate, memfs.SyncFS}).Draw(t, "kind")
	m.fs.Fail(memfs.Nth(kind, "*", rapid.IntRange(1, 4).Draw(t, "nth"), syscall.EIO))
	m.c.queueAsync()
	m.c.drain()
	m.fs.Fail(nil)
	m.noteSynced()
	for _, l := range m.logs {
		if l.Err() == nil {
			continue
		}
		if _, err := l.Append(m.small(t)); !errors.Is(err, ErrFailed) {
			t.Fatal("append to a failed log:", err)
		}
		if err := l.WaitDurable(context.Background(), l.Bounds().Durable); !errors.Is(err, ErrFailed) {
			t.Fatal("wait for a failed log:", err)
		}
		l.readFrom(t, l.Bounds().Start)
	}
}

// crash is a power failure, perhaps in the middle of something.
func (m *model) crash(t *rapid.T) {
	m.interrupt(t)
	var rng *rand.Rand
	if rapid.Bool().Draw(t, "part") {
		m.seed++
		rng = rand.New(rand.NewPCG(m.seed, 0))
	}
	m.noteSynced()
	for _, l := range m.logs {
		if l.o.Config.Durability == Async {
			l.seen = 0 // the price of not waiting
		}
	}
	m.fs = m.fs.Crash(rng)
	if rapid.Bool().Draw(t, "again") { // while the logs are recovered
		m.stopDuring(t, func() { m.tryOpen() })
		m.fs = m.fs.Crash(rng)
	}
	m.start(t)
}

// kill is the end of the process alone.
func (m *model) kill(t *rapid.T) {
	m.interrupt(t)
	for _, l := range m.logs {
		l.synced = l.Log.bounds.Durable
	}
	m.fs = m.fs.Kill()
	if rapid.Bool().Draw(t, "again") {
		m.stopDuring(t, func() { m.tryOpen() })
		m.fs = m.fs.Kill()
	}
	m.start(t)
}

// tryOpen opens all logs for nothing.
func (m *model) tryOpen() {
	for _, l := range m.logs {
		o := l.o
		o.FS, o.Files, o.Committer, o.Projection = m.fs, NewFiles(2), NewCommitter(CommitterOptions{}), nil
		_, _, _ = Open(o)
	}
}

// interrupt stops an operation in the middle. Its logs are not used any more.
func (m *model) interrupt(t *rapid.T) {
	l := m.pick(t)
	during := rapid.IntRange(0, 4).Draw(t, "during")
	m.stopDuring(t, func() {
		switch during {
		case 0:
			m.c.queueAsync()
			m.c.drain()
		case 1:
			_ = l.Trim(l.Bounds().Durable)
		case 2:
			_, _ = l.Retain(m.now.Add(2 * time.Hour))
		case 3:
			_ = l.Close()
		}
	})
}

// stopDuring runs f and stops it in the middle, as the end of the process does.
func (m *model) stopDuring(t *rapid.T, f func()) {
	type stop struct{}
	left := rapid.IntRange(0, 40).Draw(t, "operations")
	m.fs.Fail(func(memfs.Op) error {
		if left--; left < 0 {
			panic(stop{})
		}
		return nil
	})
	defer m.fs.Fail(nil)
	defer func() {
		if p := recover(); p != nil && p != (stop{}) {
			panic(p)
		}
	}()
	f()
}

// stop is a clean stop and start.
func (m *model) stop(t *rapid.T) {
	m.c.queueAsync()
	m.c.drain()
	for _, l := range m.logs {
		alive(t, l, l.Close())
		l.synced = l.Bounds().Durable
	}
	if open := m.fs.OpenFiles(); len(open) > 0 {
		t.Fatal("open after all logs are closed:", open)
	}
	m.start(t)
}

// check runs after each operation.
func (m *model) check(t *rapid.T) {
	for i, l := range m.logs {
		b := l.Bounds()
		if !b.valid() || b.Start < l.bounds.Start || b.Durable < l.bounds.Durable || b.End < l.bounds.End {
			t.Fatalf("log %d: watermarks from %+v to %+v", i, l.bounds, b)
		}
		l.bounds = b
		if got, want := l.table.String(), l.expected(); got != want {
			t.Fatalf("log %d: projection %s, want %s", i, got, want)
		}
	}
}

// expected is the projection that follows from the batches.
func (l *modelLog) expected() string {
	want := l.trimmed
	for base := range l.batches {
		if l.found[base] || base >= l.from {
			want.Replay(l.batches[base])
		}
	}
	return want.String()
}

// countTable is a projection: how many batches, and the sum of their base offsets.
type countTable struct{ count, sum int64 }

func (c countTable) String() string { return fmt.Sprintf("%d batches, sum %d", c.count, c.sum) }

func (c *countTable) Snapshot() []byte {
	b, _ := binary.Append(nil, binary.BigEndian, []int64{c.count, c.sum})
	return b
}

func (c *countTable) Restore(b []byte) error {
	*c = countTable{}
	if b == nil {
		return nil
	}
	var v [2]int64
	_, err := binary.Decode(b, binary.BigEndian, v[:])
	*c = countTable{v[0], v[1]}
	return err
}

func (c *countTable) Replay(b Batch) {
	c.count++
	c.sum += b.BaseOffset()
}
