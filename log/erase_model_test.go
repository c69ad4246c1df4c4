package log

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log/vfs/memfs"
)

// TestEraseModel erases, compacts, trims and moves on, while processes die at any operation. It checks that
//
//   - what is read is what was appended and not erased, at its offset;
//   - a record whose erasure was durable never comes back;
//   - a record that was durable and not erased is never lost, and compaction tells of none as removed;
//   - no offset is given out twice, and a start that was moved durably never moves back;
//   - what was taken off the disk leaves the list, and the list does not outgrow its bound.
func TestEraseModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newEraseModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"append":    m.append,
			"roll":      func(*rapid.T) { m.must(m.Roll()) },
			"commit":    func(*rapid.T) { m.commit() },
			"chores":    func(*rapid.T) { m.chores() },
			"erase":     m.eraseSome,
			"erase now": m.eraseNow,
			"sweep":     m.sweep,
			"trim":      m.trim,
			"trim soon": m.trimSoon,
			"advance":   m.advance,
			"interrupt": m.interrupt,
			"stop":      m.stop,
			"":          m.check,
		})
		m.commit()
		m.must(m.Roll())
		m.commit()
		m.sweepWith(t, 0)
		if n := m.erased.set.in(0, m.segments[len(m.segments)-1].base); n > 0 && len(m.holes) == 0 {
			t.Fatalf("%d offsets in finished segments are still listed", n)
		}
		m.check(t)
	})
}

type eraseModel struct {
	*Log
	t  *rapid.T
	fs *memfs.FS
	o  Options

	values  map[int64]string // of every record that was appended and may be there
	hidden  map[int64]bool   // erased
	durable map[int64]bool   // erased durably
	start   int64            // moved durably
	end     int64            // that was durable
	holes   map[int64]bool   // first offsets of damage that a crash left
	seed    uint64
}

func newEraseModel(t *rapid.T) *eraseModel {
	m := &eraseModel{t: t, fs: memfs.New(), values: map[int64]string{}, hidden: map[int64]bool{}, durable: map[int64]bool{}, holes: map[int64]bool{}}
	m.seed = rapid.Uint64().Draw(t, "seed")
	m.o = Options{Dir: "t/p", Config: Config{
		SegmentBytes:   rapid.Int64Range(300, 3000).Draw(t, "segment"),
		IndexInterval:  rapid.IntRange(0, 600).Draw(t, "interval"),
		RetentionBytes: -1,
		RetentionAge:   -1,
	}}
	if rapid.Bool().Draw(t, "async") {
		m.o.Config.Durability = Async
	}
	m.must(errors.Join(m.fs.MkdirAll("t"), m.fs.SyncDir(".")))
	m.boot()
	return m
}

func (m *eraseModel) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// alive is true for no error, and keeps out of the test what a broken disk says.
func (m *eraseModel) alive(err error) bool {
	if !errors.Is(err, ErrFailed) && !errors.Is(err, syscall.EIO) {
		m.must(err)
	}
	return err == nil
}

// boot opens the log as a new process would.
func (m *eraseModel) boot() {
	m.o.FS, m.o.Files, m.o.Committer = m.fs, NewFiles(2), NewCommitter(CommitterOptions{})
	l, found, err := Open(m.o)
	m.must(err)
	m.t.Logf("opened: %+v %+v", found, l.Bounds())
	if len(found.ErasedDamaged) > 0 {
		m.t.Fatalf("damage to the list: %v", found.ErasedDamaged)
	}
	for _, d := range found.Damaged {
		if d.First < m.end && !m.holes[d.First] {
			m.t.Fatalf("damage in what was durable: %v", &d)
		}
		m.holes[d.First] = true // a batch that was never synced, of which too much is left to be taken for torn
	}
	m.Log = l
}

func (m *eraseModel) commit() {
	m.o.Committer.drain()
	m.end = max(m.end, m.erased.synced)
}

// chores makes everything durable that nobody waits for.
func (m *eraseModel) chores() {
	m.o.Committer.callLater()
	m.commit()
	if m.Err() == nil {
		m.settle()
	}
}

// settle takes note that everything so far is durable.
func (m *eraseModel) settle() {
	m.start = max(m.start, m.Bounds().Start)
	for o := range m.hidden {
		m.durable[o] = true
	}
}

func (m *eraseModel) append(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "batches") {
		b := Builder{Codec: Codec(rapid.IntRange(0, int(Zstd)).Draw(t, "codec"))}
		end := m.Bounds().End
		var values []string
		for i := range rapid.IntRange(1, 6).Draw(t, "records") {
			values = append(values, fmt.Sprint("value ", end+int64(i)))
			b.Add(Record{Timestamp: 1, Value: []byte(values[i])})
		}
		batch, err := b.Build()
		m.must(err)
		at, err := m.Append(batch)
		if !m.alive(err) {
			return
		}
		if at.Base != end {
			t.Fatalf("appended at %d, the end was %d", at.Base, end)
		}
		for i, v := range values {
			if _, taken := m.values[at.Base+int64(i)]; taken {
				t.Fatalf("offset %d was given out twice", at.Base+int64(i))
			}
			m.values[at.Base+int64(i)] = v
		}
	}
}

// some draws offsets from the log.
func (m *eraseModel) some(t *rapid.T) []int64 {
	b := m.Bounds()
	if b.Start == b.End {
		return nil
	}
	return rapid.SliceOfN(rapid.Int64Range(max(b.Start, b.End-60), b.End-1), 0, 12).Draw(t, "offsets")
}

func (m *eraseModel) eraseSome(t *rapid.T) {
	offsets := m.some(t)
	if m.alive(m.Erase(offsets, false)) {
		m.hide(offsets)
	}
}

func (m *eraseModel) hide(offsets []int64) {
	for _, o := range offsets {
		m.hidden[o] = true
	}
}

func (m *eraseModel) eraseNow(t *rapid.T) {
	m.commit()
	offsets := m.some(t)
	if m.Err() == nil && len(offsets) > 0 {
		m.hide(offsets)
	}
	if m.alive(m.Erase(offsets, true)) {
		for _, o := range offsets {
			m.durable[o] = true
		}
	}
}

func (m *eraseModel) sweep(t *rapid.T) { m.sweepWith(t, rapid.Float64Range(0, 1).Draw(t, "share")) }

func (m *eraseModel) sweepWith(t *rapid.T, share float64) {
	_, err := m.Compact(context.Background(), time.Now(), Compaction{ErasedOnly: true, ErasedShare: share,
		Removed: func(offsets iter.Seq[int64]) { t.Fatalf("removed %v", slices.Collect(offsets)) }})
	m.alive(err)
}

func (m *eraseModel) trim(t *rapid.T) {
	b := m.Bounds()
	to := rapid.Int64Range(b.Start, b.Durable).Draw(t, "to")
	if m.alive(m.Trim(to)) {
		m.start = max(m.start, to)
	}
}

func (m *eraseModel) trimSoon(t *rapid.T) {
	b := m.Bounds()
	m.alive(m.TrimSoon(rapid.Int64Range(b.Start, b.Durable).Draw(t, "to")))
}

func (m *eraseModel) advance(t *rapid.T) {
	m.commit()
	to := m.Bounds().End + rapid.Int64Range(0, 5000).Draw(t, "by")
	if m.alive(m.Advance(to)) {
		m.start, m.end = to, to
	}
}

// interrupt lets the disk fail at some operation of another action, and ends the process then, or ends it between two.
func (m *eraseModel) interrupt(t *rapid.T) {
	left := rapid.IntRange(0, 30).Draw(t, "operations")
	m.fs.Fail(func(op memfs.Op) error {
		if path.Base(op.Name) == failedName { // without this note nobody can know that a sync failed
			return nil
		}
		if left--; left < 0 {
			return syscall.EIO
		}
		return nil
	})
	action := rapid.SampledFrom([]func(*rapid.T){
		func(*rapid.T) {}, m.append, m.eraseNow, m.sweep, m.trim, m.advance, func(*rapid.T) { m.o.Committer.callLater(); m.commit() },
	}).Draw(t, "action")
	action(t)
	m.fs.Fail(nil)
	if m.seed++; rapid.Bool().Draw(t, "power") {
		m.fs = m.fs.Crash(rand.New(rand.NewPCG(m.seed, 1)))
	} else {
		m.fs = m.fs.Kill()
	}
	m.boot()
	m.compare()
}

func (m *eraseModel) stop(t *rapid.T) {
	if m.Err() != nil {
		return
	}
	m.must(m.Close())
	m.end = m.Bounds().End
	m.settle()
	m.boot()
	m.compare()
}

// compare checks a log that was just opened, and makes the model forget what was lost.
func (m *eraseModel) compare() {
	b := m.Bounds()
	if b.Start < m.start || b.End < m.end {
		m.t.Fatalf("opened with %+v, before it were %d and %d", b, m.start, m.end)
	}
	there := m.readable(b.Start)
	for o := range there {
		if m.durable[o] {
			m.t.Fatalf("the erased record %d came back", o)
		}
		delete(m.hidden, o)
	}
	for o := range m.values {
		if _, ok := there[o]; ok {
			continue
		}
		if o >= b.Start && o < m.end && !m.hidden[o] {
			m.t.Fatalf("record %d is lost", o)
		}
		if o >= m.end && o >= b.End { // it may be given out again
			delete(m.values, o)
			delete(m.hidden, o)
			continue
		}
		m.hidden[o] = true
	}
}

// readable reads all records from an offset on.
func (m *eraseModel) readable(from int64) map[int64]string {
	found := map[int64]string{}
	for _, batch := range batchesFrom(m.t, m.Log, from, 700) {
		m.must(batch.Each(unpackLimit, func(r Record) bool {
			if r.Offset >= from {
				found[r.Offset] = string(r.Value)
			}
			return true
		}))
	}
	return found
}

func (m *eraseModel) check(t *rapid.T) {
	b := m.Bounds()
	from := rapid.Int64Range(b.Start, b.Durable).Draw(t, "from")
	found := m.readable(from)
	for o, v := range m.values {
		got, ok := found[o]
		if want := o >= from && o < b.Durable && !m.hidden[o]; ok != want || ok && got != v {
			t.Fatalf("record %d is read: %v, %q; want %v, %q", o, ok, got, want, v)
		}
		delete(found, o)
	}
	if len(found) > 0 {
		t.Fatalf("read what was never appended: %v", found)
	}
	if limit := 2*int64(len(m.erased.set.blocks))*blockCost + erasedSlack + 13*(erasureFixed+8); m.erased.size > limit {
		t.Fatalf("the list has %d bytes", m.erased.size)
	}
	checkSegments(t, m.Log)
}
