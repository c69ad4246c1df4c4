package log

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// keyedBatch makes a batch of records "key=value"; without "=" a tombstone. Record i has the time ms+i.
func keyedBatch(t testing.TB, bld Builder, ms int64, records ...string) Batch {
	t.Helper()
	for i, r := range records {
		key, value, ok := strings.Cut(r, "=")
		rec := Record{Timestamp: ms + int64(i), Headers: []Header{{"h", []byte(key)}}}
		if key != "" {
			rec.Key = []byte(key)
		}
		if ok {
			rec.Value = []byte(value)
		}
		bld.Add(rec)
	}
	b, err := bld.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) put(ms int64, records ...string) {
	b.t.Helper()
	if _, err := b.Append(keyedBatch(b.t, Builder{}, ms, records...)); err != nil {
		b.t.Fatal("append:", err)
	}
}

// seal rolls and commits, so that everything so far may be compacted.
func (b *bench) seal() {
	b.t.Helper()
	if err := b.Roll(); err != nil {
		b.t.Fatal("roll:", err)
	}
	b.commit()
}

func (b *bench) compact(now time.Time, o Compaction) Compacted {
	b.t.Helper()
	if o.KeyMemory == 0 {
		o.KeyMemory = 1 << 20
	}
	done, err := b.Compact(context.Background(), now, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return done
}

// batchesFrom reads all batches that can be read from offset on.
func batchesFrom(t rapid.TB, l *Log, offset, max int64) (all []Batch) {
	t.Helper()
	for offset < l.Bounds().Durable {
		r, err := l.Read(offset, max)
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
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
		if r.Length == 0 {
			break
		}
		if r.Next <= offset {
			t.Fatalf("read %d: no progress, next %d", offset, r.Next)
		}
		for offset = r.Next; len(raw) > 0; {
			var b Batch
			if b, raw, err = ParseBatch(raw); err != nil {
				t.Fatal(err)
			}
			if err := b.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
	}
	return all
}

func TestCompactKeepsTheNewestOfEachKey(t *testing.T) {
	for codec := NoCodec; codec <= Zstd; codec++ {
		fs := memfs.New()
		b := openBench(t, fs)
		add := func(ms int64, records ...string) {
			t.Helper()
			if _, err := b.Append(keyedBatch(t, Builder{Codec: codec}, ms, records...)); err != nil {
				t.Fatal(err)
			}
		}
		add(10, "a=1", "b=1", "c=1")
		add(20, "a=2", "d=1")
		add(30, "b=2")
		b.seal()
		add(40, "c=2", "c=3")
		add(50, "d=2", "x=1", "d=3")
		b.seal()
		add(60, "x=2") // in the active segment: it replaces nothing
		b.commit()
		if done := b.compact(time.Now(), Compaction{}); done.Records != 6 || done.Passes != 1 {
			t.Errorf("%v: %+v", codec, done)
		}
		want := "3-4[ 3:a=2@20 ] 5-5[ 5:b=2@30 ] 6-7[ 7:c=3@41 ] 8-10[ 9:x=1@51 10:d=3@52 ] 11-11[ 11:x=2@60 ]"
		b.want(want)
		b.checkFiles()
		if len(b.segments) != 2 {
			t.Errorf("%d segments, want one and the active one", len(b.segments))
		}
		if done := b.compact(time.Now(), Compaction{}); done != (Compacted{}) {
			t.Errorf("nothing to do, but %+v", done)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if open := fs.OpenFiles(); len(open) > 0 {
			t.Error("open after close:", open)
		}
		b.reopen(fs)
		b.want(want)
		if d := b.Dirt(time.Now(), 0); d.Dirty != 0 || d.Clean == 0 {
			t.Errorf("after a restart: %+v", d)
		}
		if n := b.o.Files.IndexesRebuilt(); n != 0 || b.IndexesRebuilt != 0 {
			t.Errorf("%d and %d indexes rebuilt", n, b.IndexesRebuilt)
		}
	}
}

// Every offset leads on, whether its record is there, its batch, or neither.
func TestReadInGaps(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1", "b=1") // 0, 1
	b.put(1, "c=1", "a=2") // 2, 3
	b.put(1, "d=1", "b=2") // 4, 5
	b.seal()
	b.put(1, "a=3", "c=2") // 6, 7
	b.put(1, "b=3", "d=2") // 8, 9
	b.put(1, "e=1", "a=4") // 10, 11
	b.seal()
	b.put(1, "d=3", "c=3")
	b.commit()
	b.compact(time.Now(), Compaction{})
	b.want("6-7[ 7:c=2@2 ] 8-9[ 8:b=3@1 9:d=2@2 ] 10-11[ 10:e=1@1 11:a=4@2 ] 12-13[ 12:d=3@1 13:c=3@2 ]")
	want := map[int64]int64{0: 6, 1: 6, 2: 6, 5: 6, 6: 6, 7: 6, 8: 8, 9: 8, 10: 10, 11: 10, 12: 12}
	for offset, base := range want {
		r, err := b.Read(offset, 1)
		if err != nil || r.Base != base || r.Next <= offset {
			t.Errorf("read %d: batch %d, next %d, %v; want batch %d", offset, r.Base, r.Next, err, base)
		}
		r.Close()
	}
}

func TestTombstones(t *testing.T) {
	const age = time.Hour
	start := time.UnixMilli(1_700_000_000_000)
	tests := []struct {
		name        string
		age         time.Duration
		codec       Codec
		stamp       bool
		after       time.Duration // from the first round to the second
		first, want string
	}{
		{"kept before its horizon", age, NoCodec, false, age - time.Millisecond,
			"0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]", "0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]"},
		{"dropped at its horizon", age, NoCodec, false, age,
			"0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]", "3-3[ 3:b=2@2000 ]"},
		{"packed", age, Zstd, false, age,
			"0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]", "3-3[ 3:b=2@2000 ]"},
		{"at once", 0, NoCodec, false, 0,
			"0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]", "3-3[ 3:b=2@2000 ]"},
		{"never", -1, NoCodec, false, 1000 * age,
			"0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]", "0-2[ 2:a@1002 ] 3-3[ 3:b=2@2000 ]"},
		{"the broker's time", age, Gzip, true, age - 1,
			"0-2[ 2:a@5000 ] 3-3[ 3:b=2@2000 ]", "0-2[ 2:a@5000 ] 3-3[ 3:b=2@2000 ]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := openBench(t, memfs.New())
			batch := keyedBatch(t, Builder{Codec: tt.codec}, 1000, "a=1", "b=1", "a")
			if tt.stamp {
				batch.SetLogAppendTime(time.UnixMilli(5000))
			}
			if _, err := b.Append(batch); err != nil {
				t.Fatal(err)
			}
			b.put(2000, "b=2")
			b.seal()
			o := Compaction{TombstoneAge: tt.age}
			b.compact(start, o)
			b.want(tt.first)
			left := batchesFrom(t, b.Log, 0, 1)[0]
			horizon, marked := left.deleteHorizon()
			if marked != (tt.age >= 0) || marked && horizon != start.Add(tt.age).UnixMilli() {
				t.Errorf("horizon %d %v", horizon, marked)
			}
			if left.Codec() != tt.codec {
				t.Errorf("codec %v, want %v", left.Codec(), tt.codec)
			}
			// A second round needs something new to be worth while.
			b.put(3000, "z=1")
			b.seal()
			b.compact(start.Add(tt.after), o)
			b.want(tt.want + " 4-4[ 4:z=1@3000 ]")
			if tt.want == tt.first && tt.age > 0 {
				again, _ := batchesFrom(t, b.Log, 0, 1)[0].deleteHorizon()
				if again != horizon {
					t.Errorf("the horizon moved from %d to %d", horizon, again)
				}
			}
			b.checkFiles()
		})
	}
}

// With little memory a pass ends within a batch. Its tombstones wait for the pass that has removed what is older.
func TestHorizonIsSetByTheRightPass(t *testing.T) {
	b := openBench(t, memfs.New())
	var first, second []string
	for i := range minKeys - 1 {
		first = append(first, fmt.Sprintf("k%d=1", i))
		second = append(second, fmt.Sprintf("n%d=1", i))
	}
	b.put(1, append(append(first, "a=1", "n0=0"), "n1")...)
	b.put(1, append(second, "a")...)
	b.seal()
	if done := b.compact(time.UnixMilli(0), Compaction{KeyMemory: 1, TombstoneAge: time.Hour}); done.Passes != 2 {
		t.Fatalf("%+v", done)
	}
	all := batchesFrom(t, b.Log, 0, 1)
	if _, marked := all[0].deleteHorizon(); marked {
		t.Error("a superseded tombstone left a horizon")
	}
	if _, marked := all[1].deleteHorizon(); !marked || len(all) != 2 {
		t.Errorf("%d batches, horizon %v", len(all), marked)
	}
	if s := describe(t, all[0]); strings.Contains(s, ":a=1") || strings.Contains(s, ":n") {
		t.Error("left:", s)
	}
}

func TestCompactWithLittleMemory(t *testing.T) {
	b := openBench(t, memfs.New())
	want := map[string]int64{}
	for i := range 600 {
		key := fmt.Sprintf("k%d", i*7%100)
		want[key] = int64(i)
		b.put(int64(i), fmt.Sprintf("%s=%d", key, i))
	}
	b.seal()
	segments := len(b.segments)
	done := b.compact(time.Now(), Compaction{KeyMemory: 1}) // minKeys at a time
	if done.Passes < 100/minKeys || done.Records != 500 || len(b.segments) >= segments {
		t.Errorf("%+v, segments from %d to %d", done, segments, len(b.segments))
	}
	got := map[string]int64{}
	for _, batch := range batchesFrom(t, b.Log, 0, 1000) {
		_ = batch.Each(1<<20, func(r Record) bool {
			if _, twice := got[string(r.Key)]; twice {
				t.Errorf("%s is there twice", r.Key)
			}
			got[string(r.Key)] = r.Offset
			return true
		})
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("left %v, want %v", got, want)
	}
	b.checkFiles()
}

// Batches stay for what they say about offsets and sequences, even when nothing else is left of them.
func TestEmptyBatches(t *testing.T) {
	b := openBench(t, memfs.New())
	producer := Builder{Idempotent: true, ProducerID: 7, ProducerEpoch: 2, BaseSequence: 40, Codec: Gzip}
	if _, err := b.Append(keyedBatch(t, producer, 100, "a=1", "b=1", "c=1")); err != nil {
		t.Fatal(err)
	}
	b.put(200, "a=2", "b=2", "c=2")
	b.put(300, "b=3", "c=3")
	b.put(50, "a=3", "c=4")
	b.put(60, "c=5")
	b.seal()
	keep := func() map[int64]bool { return map[int64]bool{0: true} }
	b.compact(time.Now(), Compaction{Keep: keep})
	b.want("0-2[ ] 6-7[ 6:b=3@300 ] 8-9[ 8:a=3@50 ] 10-10[ 10:c=5@60 ]")
	empty := batchesFrom(t, b.Log, 0, 1)[0]
	if empty.Size() != HeaderSize || empty.ProducerID() != 7 || empty.ProducerEpoch() != 2 || empty.BaseSequence() != 40 ||
		empty.LastSequence() != 42 || empty.MaxTimestamp() != 102 || empty.Codec() != NoCodec || empty.BaseTimestamp() != -1 {
		t.Errorf("empty batch: % x", []byte(empty))
	}
	if at, found, err := b.OffsetForTime(101); err != nil || !found || at.Offset != 6 {
		t.Errorf("the first record from 101 on: %+v %v %v", at, found, err)
	}
	if at, found, err := b.MaxTimestamp(); err != nil || !found || at.Offset != 6 || at.Timestamp != 300 {
		t.Errorf("the newest record: %+v %v %v", at, found, err)
	}
	b.checkFiles()

	// The last batch of the range stays so that readers get there; the next round drops it.
	b.put(70, "c=6")
	b.put(80, "b=4", "a=4")
	b.put(90, "q=1")
	b.put(90, "q=2")
	b.seal()
	b.put(99, "q")
	b.seal()
	b.put(99, "q=3")
	b.compact(time.Now(), Compaction{})
	b.want("11-11[ 11:c=6@70 ] 12-13[ 12:b=4@80 13:a=4@81 ] 16-16[ 16:q@99 ]")
	b.seal()
	b.compact(time.Now(), Compaction{TombstoneAge: -1})
	b.want("11-11[ 11:c=6@70 ] 12-13[ 12:b=4@80 13:a=4@81 ] 17-17[ 17:q=3@99 ]")
}

// A segment of which nothing is left, and that has no neighbour to go into, leaves an empty file in its place.
func TestEmptySegment(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.put(1, "a=1")
	b.seal()
	b.put(1, "a=2")
	b.put(1, "b=1")
	b.put(1, "c=1")
	b.seal()
	b.rot(2)
	b.compact(time.Now(), Compaction{})
	for range 2 {
		if len(b.segments) != 3 || b.segments[0].size != 0 {
			t.Errorf("%d segments, the first one has %d bytes", len(b.segments), b.segments[0].size)
		}
		b.want("1-1[ 1:a=2@1 ] 3-3[ 3:c=1@1 ]")
		b.checkFiles()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.reopen(fs)
	}
}

// What does not change is not written.
func TestCompactWritesOnlyWhatChanges(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	for i := range 60 { // some segments, too large to go into one
		b.put(1, fmt.Sprintf("k%d=%0100d", i, i))
	}
	b.put(1, "k30=new", "k31=new")
	b.seal()
	before := slices.Clone(b.segments)
	b.compact(time.Now(), Compaction{})
	same := 0
	for _, s := range before {
		if slices.Contains(b.segments, s) {
			same++
		}
	}
	if same < len(before)-3 {
		t.Errorf("%d of %d segments are as they were", same, len(before))
	}
	b.checkFiles()
}

func TestLastBatchOfTheRangeStays(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1")
	b.put(1, "a")
	b.seal()
	b.compact(time.UnixMilli(0), Compaction{})
	b.put(1, "b")
	b.seal()
	b.compact(time.UnixMilli(1), Compaction{})
	b.want("2-2[ 2:b@1 ]")
	b.put(1, "")
	b.seal()
	b.compact(time.UnixMilli(2), Compaction{})
	b.want("3-3[ ]")
}

// A reader that has an old segment open reads it to its end.
func TestRangeOutlivesTheSwap(t *testing.T) {
	for _, fs := range []vfs.FS{memfs.New(), vfs.OS{}} {
		b := openBench(t, fs, func(o *Options) { o.Dir = path.Join(t.TempDir(), "t/p") })
		b.put(1, "a=1", "a=2")
		b.put(1, "b=1")
		b.seal()
		r, err := b.Read(0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		before, err := r.ReadAll(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.put(1, "a=3", "b=2")
		b.seal()
		b.compact(time.Now(), Compaction{})
		after, err := r.ReadAll(nil)
		if err != nil || string(after) != string(before) || len(after) == 0 {
			t.Errorf("%T: %d bytes, %v; before %d", fs, len(after), err, len(before))
		}
		r.Close()
		b.want("3-4[ 3:a=3@1 4:b=2@2 ]")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompactEndsWithContextAndClose(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1", "a=2")
	b.seal()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Compact(ctx, time.Now(), Compaction{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	entered, goOn := make(chan struct{}), make(chan struct{})
	fs := b.fs.(*memfs.FS)
	fs.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Create && strings.HasSuffix(op.Name, cleanedSuffix) {
			close(entered)
			<-goOn
		}
		return nil
	})
	done := make(chan error)
	go func() {
		_, err := b.Compact(context.Background(), time.Now(), Compaction{})
		done <- err
	}()
	<-entered
	fs.Fail(nil)
	go func() { done <- b.Close() }()
	for b.usable() == nil { // until Close has begun
	}
	close(goOn)
	first, second := <-done, <-done
	if !errors.Is(errors.Join(first, second), ErrClosed) || first != nil && second != nil {
		t.Errorf("%v, %v", first, second)
	}
	if open := fs.OpenFiles(); len(open) > 0 {
		t.Error("open after close:", open)
	}
	if _, err := b.Compact(context.Background(), time.Now(), Compaction{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func (l *Log) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usableLocked()
}
