package log

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log/vfs/memfs"
)

// TestCompactModel appends keyed records and tombstones, and compacts with memory for a few keys, while disks fail and
// processes die at any operation. It checks that
//
//   - what is read is what was appended, at its offset, in order, and a reader gets on from every offset;
//   - the newest record of each key is there, unless it is a tombstone whose time was up;
//   - after a round that ended well, nothing else is there below the offset it reached;
//   - nothing above that offset was touched, and nothing durable was lost;
//   - the producers' sequences are those of what was appended, however often they were rebuilt;
//   - segments, indexes and watermarks fit each other, and answers by time are right;
//   - no file is left open or lying about.
func TestCompactModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newCompactModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"append":    m.append,
			"seal":      m.seal,
			"compact":   m.compact,
			"retain":    m.retain,
			"read":      m.read,
			"times":     m.times,
			"interrupt": m.interrupt,
			"fault":     m.fault,
			"restart":   m.restart,
			"":          m.check,
		})
		m.compact(t)
		m.restart(t)
		m.check(t)
	})
}

type compactModel struct {
	*Log
	fs      *memfs.FS
	o       Options
	c       Compaction
	table   *lastBatches
	now     time.Time
	seed    uint64
	records []Record        // all that were appended and are not lost, by offset
	sent    []Batch         // of idempotent producers, likewise
	next    map[int64]int32 // sequence of each producer
	tried   []attempt       // rounds so far, also those that were interrupted
}

// attempt is a round of compaction and how far it may have come.
type attempt struct {
	now time.Time
	end int64
}

func newCompactModel(t *rapid.T) *compactModel {
	m := &compactModel{fs: memfs.New(), now: time.UnixMilli(1_000_000), table: &lastBatches{}, next: map[int64]int32{}}
	m.seed = rapid.Uint64().Draw(t, "seed")
	m.o = Options{Dir: "t/p", Projection: m.table, Config: Config{
		SegmentBytes:   rapid.Int64Range(300, 3000).Draw(t, "segment"),
		IndexInterval:  rapid.IntRange(0, 600).Draw(t, "interval"),
		RetentionBytes: -1,
		RetentionAge:   -1,
	}}
	m.c = Compaction{
		KeyMemory:    rapid.Int64Range(0, 40).Draw(t, "keys") * keyCost,
		TombstoneAge: time.Duration(rapid.IntRange(-1, 5).Draw(t, "age")) * time.Second,
	}
	if err := errors.Join(m.fs.MkdirAll("t"), m.fs.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	return m
}

// start opens the log as a new process would.
func (m *compactModel) start(t *rapid.T) {
	m.o.FS, m.o.Files, m.o.Committer = m.fs, NewFiles(2), NewCommitter(CommitterOptions{})
	*m.table = lastBatches{}
	log, r, err := Open(m.o)
	if err != nil {
		t.Fatal("open:", err)
	}
	t.Logf("opened: %+v %+v", r, log.Bounds())
	if len(r.Damaged) > 0 || r.Checkpoint != nil || r.IndexesRebuilt > 0 {
		t.Fatal("something is damaged")
	}
	m.Log = log
}

// lose forgets what is gone of the batches that were never durable.
func (m *compactModel) lose(t *rapid.T, durable int64) {
	there := map[int64]bool{}
	for _, b := range batchesFrom(t, m.Log, max(durable, m.Bounds().Start), 1000) {
		for offset := b.BaseOffset(); offset <= b.LastOffset(); offset++ {
			there[offset] = true
		}
	}
	m.records = slices.DeleteFunc(m.records, func(r Record) bool { return r.Offset >= durable && !there[r.Offset] })
	m.sent = slices.DeleteFunc(m.sent, func(b Batch) bool { return b.BaseOffset() >= durable && !there[b.BaseOffset()] })
	clear(m.next)
	for _, b := range m.sent {
		m.next[b.ProducerID()] = b.LastSequence() + 1
	}
}

// restored compares the table of a process that was just started with the last batch that each producer sent.
func (m *compactModel) restored(t *rapid.T) {
	last := map[int64]Batch{}
	for _, b := range m.sent {
		last[b.ProducerID()] = b
	}
	for pid, b := range last {
		got := (*m.table)[pid]
		if b.BaseOffset() < m.Bounds().Start && len(got) == 0 {
			continue // deleted
		}
		if len(got) == 0 || got[len(got)-1] != (batchID{pid, b.BaseOffset(), b.LastSequence()}) {
			t.Fatalf("producer %d: %v, its last batch is %d with sequence %d", pid, got, b.BaseOffset(), b.LastSequence())
		}
	}
}

func (m *compactModel) draw(t *rapid.T, i int) Record {
	r := Record{
		Timestamp: rapid.Int64Range(0, 500).Draw(t, "time"),
		Key:       fmt.Appendf(nil, "key-%d", rapid.IntRange(0, 50).Draw(t, "key")),
	}
	if rapid.IntRange(0, 3).Draw(t, "tombstone") > 0 {
		r.Value = make([]byte, rapid.IntRange(0, 60).Draw(t, "size"))
		for j := range r.Value {
			r.Value[j] = byte(i + j)
		}
	}
	return r
}

// append leaves a few batches unsynced at most, as a client does that waits for answers.
func (m *compactModel) append(t *rapid.T) {
	m.commit()
	for range rapid.IntRange(1, remembered-1).Draw(t, "batches") {
		bld := Builder{Codec: Codec(rapid.IntRange(0, int(Zstd)).Draw(t, "codec"))}
		pid := rapid.Int64Range(-1, 3).Draw(t, "producer")
		if pid >= 0 {
			bld.Idempotent, bld.ProducerID, bld.BaseSequence = true, pid, m.next[pid]
		}
		records := make([]Record, rapid.IntRange(1, 6).Draw(t, "records"))
		end := m.Bounds().End
		for i := range records {
			records[i] = m.draw(t, len(m.records)+i)
			records[i].Offset = end + int64(i)
			bld.Add(records[i])
		}
		b, err := bld.Build()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Append(b); errors.Is(err, ErrTooLarge) {
			continue
		} else if errors.Is(err, ErrFailed) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		m.records = append(m.records, records...)
		m.table.Replay(b)
		if pid >= 0 {
			m.sent = append(m.sent, slices.Clone(b[:HeaderSize]))
			m.next[pid] = b.LastSequence() + 1
		}
	}
}

func (m *compactModel) seal(t *rapid.T) {
	if err := m.Roll(); err != nil && !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	m.commit()
}

func (m *compactModel) commit() { m.o.Committer.drain() }

// round runs Compact at a later time.
func (m *compactModel) round(t *rapid.T) error {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second)
	o := m.c
	o.Keep = m.table.bases
	m.tried = append(m.tried, attempt{m.now, m.Log.bounds.Durable})
	_, err := m.Compact(context.Background(), m.now, o)
	return err
}

func (m *compactModel) compact(t *rapid.T) {
	if err := m.round(t); errors.Is(err, ErrFailed) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	from := m.dirtyFrom
	if pieces := m.piecesLocked(m.now, 0); len(pieces) > 0 && pieces[len(pieces)-1].end != from {
		t.Fatalf("compacted up to %d, %d was possible", from, pieces[len(pieces)-1].end)
	}
	checkSegments(t, m.Log)
	left := m.left(t)
	seen := map[string]int64{}
	for _, r := range left {
		if r.Offset >= from {
			break
		}
		if other, twice := seen[string(r.Key)]; twice {
			t.Fatalf("%s is at %d and %d, compacted up to %d", r.Key, other, r.Offset, from)
		}
		seen[string(r.Key)] = r.Offset
	}
}

// left reads all records.
func (m *compactModel) left(t *rapid.T) (all []Record) {
	next := int64(-1)
	for _, b := range batchesFrom(t, m.Log, m.Bounds().Start, rapid.Int64Range(1, 2000).Draw(t, "max")) {
		if b.BaseOffset() < next {
			t.Fatalf("batch %d after offset %d", b.BaseOffset(), next-1)
		}
		next = b.LastOffset() + 1
		err := b.Each(1<<20, func(r Record) bool {
			if r.Offset >= m.bounds.Start {
				r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
				all = append(all, r)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// check runs after each operation.
func (m *compactModel) check(t *rapid.T) {
	b := m.Bounds()
	left := map[int64]Record{}
	for _, r := range m.left(t) {
		left[r.Offset] = r
	}
	newest := map[string]int64{}
	for _, r := range m.records {
		if r.Offset < b.Durable {
			newest[string(r.Key)] = r.Offset
		}
	}
	for _, want := range m.records {
		got, there := left[want.Offset]
		delete(left, want.Offset)
		if there && (got.Timestamp != want.Timestamp || string(got.Key) != string(want.Key) || string(got.Value) != string(want.Value) || (got.Value == nil) != (want.Value == nil)) {
			t.Fatalf("read %+v, appended %+v", got, want)
		}
		if there || want.Offset < b.Start || want.Offset >= b.Durable {
			continue
		}
		switch tried := m.triedFor(want.Offset); {
		case len(tried) == 0:
			t.Fatalf("%d is lost, no round came there", want.Offset)
		case newest[string(want.Key)] > want.Offset:
		case want.Value != nil:
			t.Fatalf("%d is lost, the newest of %s", want.Offset, want.Key)
		case m.c.TombstoneAge < 0 || tried[len(tried)-1].now.Before(tried[0].now.Add(m.c.TombstoneAge)):
			t.Fatalf("tombstone %d is lost after %v", want.Offset, tried)
		}
	}
	if len(left) > 0 {
		t.Fatalf("never appended: %v", slices.Collect(maps.Keys(left)))
	}
}

// triedFor are the rounds that a record was there for.
func (m *compactModel) triedFor(offset int64) []attempt {
	i := slices.IndexFunc(m.tried, func(a attempt) bool { return offset < a.end })
	if i < 0 {
		return nil
	}
	return m.tried[i:]
}

func (m *compactModel) read(t *rapid.T) {
	b := m.Bounds()
	from := rapid.Int64Range(b.Start, b.Durable).Draw(t, "from")
	all := batchesFrom(t, m.Log, from, rapid.Int64Range(1, 2000).Draw(t, "max"))
	if len(all) > 0 && all[0].LastOffset() < from {
		t.Fatalf("read %d: batch %d to %d", from, all[0].BaseOffset(), all[0].LastOffset())
	}
}

// times compares answers by time with a look at every record.
func (m *compactModel) times(t *rapid.T) {
	all := m.left(t)
	at := rapid.Int64Range(0, 510).Draw(t, "at")
	i := slices.IndexFunc(all, func(r Record) bool { return r.Timestamp >= at })
	got, found, err := m.OffsetForTime(at)
	if err != nil || found != (i >= 0) || found && (got.Offset != all[i].Offset || got.Timestamp != all[i].Timestamp) {
		t.Fatalf("offset for time %d: %+v %v %v, want record %d", at, got, found, err, i)
	}
	var newest Record
	for i, r := range all {
		if i == 0 || r.Timestamp > newest.Timestamp {
			newest = r
		}
	}
	got, found, err = m.Log.MaxTimestamp()
	if err != nil || found != (len(all) > 0) || found && (got.Offset != newest.Offset || got.Timestamp != newest.Timestamp) {
		t.Fatalf("newest: %+v %v %v, want %+v", got, found, err, newest)
	}
}

func (m *compactModel) retain(t *rapid.T) {
	b := m.Bounds()
	if err := m.Trim(rapid.Int64Range(b.Start, b.Start+(b.Durable-b.Start)/3).Draw(t, "to")); err != nil && !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
}

// interrupt ends the process in the middle of a round: by a power failure, which takes all that was not synced or any
// part of it, or alone.
func (m *compactModel) interrupt(t *rapid.T) {
	how := rapid.SampledFrom([]string{"kill", "lose all", "lose any part"}).Draw(t, "how")
	if how == "lose any part" {
		m.commit() // what may be left of unsynced batches is for another test
	}
	m.roundUntil(t, rapid.IntRange(0, 150).Draw(t, "operations"))
	durable := m.Log.bounds.Durable // without its lock, which the interrupted operation may hold
	switch how {
	case "kill":
		m.fs = m.fs.Kill()
	case "lose all":
		m.fs = m.fs.Crash(nil)
	default:
		m.seed++
		m.fs = m.fs.Crash(rand.New(rand.NewPCG(m.seed, 0)))
	}
	m.start(t)
	if end := m.Bounds().End; end < durable {
		t.Fatalf("lost what was durable up to %d: %d", durable, end)
	}
	m.lose(t, durable)
	m.restored(t)
}

// roundUntil ends a round before so many operations of the file system are exceeded.
func (m *compactModel) roundUntil(t *rapid.T, left int) {
	type stop struct{}
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
	_ = m.round(t)
}

// fault lets one operation of a round fail. The log goes on, or has failed for good and the next process goes on.
func (m *compactModel) fault(t *rapid.T) {
	kinds := []memfs.Kind{memfs.Create, memfs.Open, memfs.Read, memfs.Write, memfs.Sync, memfs.SyncDir, memfs.Rename, memfs.Remove, memfs.List}
	err := rapid.SampledFrom([]error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE}).Draw(t, "error")
	m.fs.Fail(memfs.Nth(rapid.SampledFrom(kinds).Draw(t, "kind"), "*", rapid.IntRange(1, 10).Draw(t, "nth"), err))
	failed := m.round(t)
	m.fs.Fail(nil)
	if m.Err() == nil && failed == nil {
		return
	}
	m.check(t)
	if m.Err() == nil {
		m.compact(t) // it may be tried again at once
	}
}

// restart stops cleanly, if that is possible, and starts.
func (m *compactModel) restart(t *rapid.T) {
	m.commit()
	if err := m.Close(); err != nil && !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if open := m.fs.OpenFiles(); len(open) > 0 {
		t.Fatal("open after close:", open)
	}
	durable := m.Bounds().Durable // less than everything if the log has failed
	m.start(t)
	m.lose(t, durable)
	m.restored(t)
}

// remembered is how many batches of each producer the projection knows.
const remembered = 5

// batchID is what it knows of each.
type batchID struct {
	pid, base int64
	last      int32
}

// lastBatches is a projection: the last batches of each producer.
type lastBatches map[int64][]batchID

func (l *lastBatches) Replay(b Batch) {
	if b.ProducerID() < 0 {
		return
	}
	if *l == nil {
		*l = lastBatches{}
	}
	seen := append((*l)[b.ProducerID()], batchID{b.ProducerID(), b.BaseOffset(), b.LastSequence()})
	(*l)[b.ProducerID()] = seen[max(len(seen)-remembered, 0):]
}

func (l *lastBatches) list() (all []batchID) {
	for _, pid := range slices.Sorted(maps.Keys(*l)) {
		all = append(all, (*l)[pid]...)
	}
	return all
}

// bases are the base offsets of the batches in it.
func (l *lastBatches) bases() map[int64]bool {
	all := map[int64]bool{}
	for _, b := range l.list() {
		all[b.base] = true
	}
	return all
}

func (l *lastBatches) Snapshot() []byte {
	b, _ := binary.Append(nil, binary.BigEndian, int64(len(l.list())))
	for _, m := range l.list() {
		b, _ = binary.Append(b, binary.BigEndian, []int64{m.pid, m.base, int64(m.last)})
	}
	return b
}

func (l *lastBatches) Restore(b []byte) error {
	*l = lastBatches{}
	if b == nil {
		return nil
	}
	all := make([]int64, len(b)/8)
	if _, err := binary.Decode(b, binary.BigEndian, all); err != nil {
		return err
	}
	for all = all[1:]; len(all) > 0; all = all[3:] {
		(*l)[all[0]] = append((*l)[all[0]], batchID{all[0], all[1], int32(all[2])})
	}
	return nil
}
