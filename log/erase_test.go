package log

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// erase erases durably.
func (b *bench) erase(offsets ...int64) {
	b.t.Helper()
	if err := b.Erase(offsets, true); err != nil {
		b.t.Fatal("erase:", err)
	}
}

// chores does what the committer does once in an interval.
func (b *bench) chores() {
	b.o.Committer.callLater()
	b.commit()
}

// sweepAll takes everything off the disk that is erased in finished segments.
func (b *bench) sweepAll() Compacted {
	b.t.Helper()
	return b.compact(time.Now(), Compaction{ErasedOnly: true, Removed: neverRemoved(b.t)})
}

// offsetsFrom are the offsets of all records that can be read from offset on.
func (b *bench) offsetsFrom(offset int64) (all []int64) {
	b.t.Helper()
	for _, batch := range batchesFrom(b.t, b.Log, offset, 700) {
		err := batch.Each(unpackLimit, func(r Record) bool {
			if r.Offset >= offset {
				all = append(all, r.Offset)
			}
			return true
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return all
}

func (b *bench) wantOffsets(when string, offsets ...int64) {
	b.t.Helper()
	if got := b.offsetsFrom(b.Bounds().Start); !slices.Equal(got, offsets) {
		b.t.Errorf("%s: %v, want %v", when, got, offsets)
	}
}

func TestEraseSurvives(t *testing.T) {
	for codec := range Zstd + 1 {
		t.Run(codec.String(), func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs)
			for range 3 {
				if _, err := b.Append(keyedBatch(t, Builder{Codec: codec}, 1, "a=1", "b=2", "c=3")); err != nil {
					t.Fatal(err)
				}
			}
			b.commit()
			b.erase(1, 4, 3, 5, 100, -1)
			b.wantOffsets("erased", 0, 2, 6, 7, 8)
			fs = fs.Crash(nil)
			b.reopen(fs)
			b.wantOffsets("after a crash", 0, 2, 6, 7, 8)
			if got := slices.Collect(b.erased.set.all(0, 100)); !slices.Equal(got, []int64{1, 3, 4, 5}) {
				t.Errorf("erased %v", got)
			}
			if err := b.Erase([]int64{8}, false); err != nil {
				t.Fatal(err)
			}
			b.wantOffsets("one more", 0, 2, 6, 7)
			b.chores()
			b.reopen(fs.Crash(nil))
			b.wantOffsets("after another crash", 0, 2, 6, 7)
			b.seal()
			if done := b.sweepAll(); done.Records != 5 {
				t.Errorf("swept %+v", done)
			}
			b.wantOffsets("off the disk", 0, 2, 6, 7)
			b.checkFiles()
			if n := b.erased.set.count; n != 0 {
				t.Errorf("%d offsets are still listed", n)
			}
			b.chores()
			if _, err := b.fs.OpenRead(path.Join(b.o.Dir, erasedName)); !isNotExist(err) {
				t.Errorf("the list is still there: %v", err)
			}
		})
	}
}

// neverRemoved fails when compaction tells of a record that was not erased.
func neverRemoved(t *testing.T) func(iter.Seq[int64]) {
	return func(offsets iter.Seq[int64]) {
		for o := range offsets {
			t.Errorf("offset %d was removed and not erased", o)
		}
	}
}

// TestReadersGetPastErased reads from every offset of logs with erased records in all places.
func TestReadersGetPastErased(t *testing.T) {
	for pattern := range 1 << 9 {
		b := openBench(t, memfs.New(), func(o *Options) { o.Config.SegmentBytes = 250 })
		var erase []int64
		for i := range 3 {
			b.put(1, "a=1", "b=2", "c=3")
			for j := range 3 {
				if o := 3*i + j; pattern>>o&1 != 0 {
					erase = append(erase, int64(o))
				}
			}
		}
		b.commit()
		b.erase(erase...)
		for offset := range int64(9) {
			var want []int64
			for o := offset; o < 9; o++ {
				if !slices.Contains(erase, o) {
					want = append(want, o)
				}
			}
			if got := b.offsetsFrom(offset); !slices.Equal(got, want) {
				t.Fatalf("erased %v: read from %d: %v", erase, offset, got)
			}
			// A reader arrives at the end, or it would wait for ever.
			last := int64(0)
			for next := offset; next < 9; {
				r, err := b.Read(next, 1)
				if err != nil || r.Length == 0 || r.Next <= next {
					t.Fatalf("erased %v: read %d: %+v, %v", erase, next, r, err)
				}
				r.Close()
				next, last = r.Next, r.Next
			}
			if last != 9 {
				t.Fatalf("erased %v: arrived at %d from %d", erase, last, offset)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEraseLeavesLongRunsInTheFile has one erased record among batches that would otherwise be read at once.
func TestEraseLeavesLongRunsInTheFile(t *testing.T) {
	b := openBench(t, memfs.New(), func(o *Options) { o.Config.SegmentBytes = 1 << 20 })
	for range 100 {
		b.append(2, 1, 4000)
	}
	b.commit()
	b.erase(51)
	var shape []string
	for offset := int64(0); offset < 200; {
		r, err := b.Read(offset, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		_, inFile := r.File.(interface{ Fd() uintptr })
		_, memory := r.File.(interface{ Len() int })
		shape = append(shape, fmt.Sprintf("%d to %d, memory %v", r.Base, r.Next, memory))
		if inFile && memory {
			t.Error("both")
		}
		r.Close()
		offset = r.Next
	}
	want := []string{"0 to 50, memory false", "50 to 114, memory true", "114 to 200, memory false"}
	if !slices.Equal(shape, want) {
		t.Errorf("%q, want %q", shape, want)
	}
}

// TestEraseWaitsForTheRecord erases a record that is not on the disk yet: the list must not be there before it.
func TestEraseWaitsForTheRecord(t *testing.T) {
	for _, durability := range []Durability{Sync, Async} {
		synctest.Test(t, func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs, func(o *Options) { o.Config.Durability = durability })
			b.put(1, "a=1", "b=2")
			if err := b.Erase([]int64{1}, false); err != nil {
				t.Fatal(err)
			}
			b.erase() // nothing of its own to wait for
			if entries, err := fs.List(b.o.Dir); err != nil || slices.ContainsFunc(entries, isErased) {
				t.Errorf("the list was written first: %v, %v", entries, err)
			}
			stop := b.run()
			b.erase(0)
			crashed := fs.Crash(nil)
			stop()
			b.reopen(crashed)
			if b.Bounds().End != 2 {
				t.Errorf("bounds %+v", b.Bounds())
			}
			b.wantOffsets("after a crash")
			b.put(1, "c=3")
			b.commit()
			b.wantOffsets("a new record", 2)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func isErased(e vfs.Entry) bool { return e.Name == erasedName }

// TestErasureListStaysSmall erases many records, one by one, and then lets them go by Trim.
func TestErasureListStaysSmall(t *testing.T) {
	b := openBench(t, memfs.New(), func(o *Options) { o.Config.SegmentBytes = 1 << 20 })
	for range 100 {
		b.append(100, 1, 1)
	}
	b.commit()
	largest := int64(0)
	for o := range int64(9_000) {
		b.erase(o)
		largest = max(largest, b.erased.size)
	}
	if limit := int64(2*3*blockCost + erasedSlack); largest > limit {
		t.Errorf("the list took %d bytes, want at most %d", largest, limit)
	}
	b.wantOffsets("many", slices.Sorted(rangeOf(9_000, 10_000))...)
	if err := b.Trim(10_000); err != nil {
		t.Fatal(err)
	}
	b.chores()
	if b.erased.size != 0 || b.erased.set.count != 0 {
		t.Errorf("the list has %d bytes, %d offsets", b.erased.size, b.erased.set.count)
	}
}

func rangeOf(from, to int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for o := from; o < to && yield(o); o++ {
		}
	}
}

// TestErasedTimesAreNotFound looks for records by time that are erased.
func TestErasedTimesAreNotFound(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(10, "a=1", "b=2", "c=3") // at 10, 11, 12
	b.put(20, "d=4")
	b.commit()
	b.erase(1, 3)
	found, ok, err := b.OffsetForTime(11)
	if err != nil || !ok || found.Offset != 2 {
		t.Errorf("at 11: %+v, %v, %v", found, ok, err)
	}
	if found, ok, err := b.OffsetForTime(13); err != nil || ok {
		t.Errorf("at 13: %+v, %v, %v", found, ok, err)
	}
	newest, ok, err := b.MaxTimestamp()
	if err != nil || !ok || newest.Offset != 2 || newest.Timestamp != 12 {
		t.Errorf("newest: %+v, %v, %v", newest, ok, err)
	}
}

// TestErasedRecordsReplaceNothing compacts a log in which the newest record of a key is erased.
func TestErasedRecordsReplaceNothing(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1", "a=2", "b=1")
	b.put(1, "a=3", "b=2")
	b.seal()
	b.erase(3)
	var removed []int64
	b.compact(time.Now(), Compaction{TombstoneAge: -1, Removed: func(offsets iter.Seq[int64]) {
		removed = append(removed, slices.Collect(offsets)...)
	}})
	b.wantOffsets("compacted", 1, 4)
	if !slices.Equal(removed, []int64{0, 2}) {
		t.Errorf("told of %v", removed)
	}
	if b.erased.set.count != 0 {
		t.Errorf("%d offsets are listed", b.erased.set.count)
	}
	b.checkFiles()
}

// TestScanTellsOfErasedRecords reads the files of a closed log.
func TestScanTellsOfErasedRecords(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.put(1, "a=1", "b=2", "c=3")
	b.put(1, "d=4")
	b.commit()
	b.erase(0, 2)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	scan := func() (lines []string) {
		err := Scan(fs, b.o.Dir, func(f Found) error {
			if f.Damage != nil {
				lines = append(lines, f.Damage.Segment+": "+f.Damage.Reason)
				return nil
			}
			lines = append(lines, fmt.Sprint(f.Batch.BaseOffset(), f.Erased))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	if got := scan(); !slices.Equal(got, []string{"0 [0 2]", "3 []"}) {
		t.Errorf("scanned %q", got)
	}
	edit(t, fs, path.Join(b.o.Dir, erasedName), func(b []byte) []byte { return append(b, "rest"...) })
	if got := scan(); !slices.Equal(got, []string{"erased: torn tail: no entry of such a file", "0 [0 2]", "3 []"}) {
		t.Errorf("scanned %q", got)
	}
}

// TestErasingEndsWithTheLog erases in a log that is closed or removed meanwhile: the answer is an answer, and nothing is made
// in the directory afterwards.
func TestErasingEndsWithTheLog(t *testing.T) {
	for _, end := range []func(l *Log) error{(*Log).Close, (*Log).Remove} {
		fs := memfs.New()
		b := openBench(t, fs)
		b.put(1, "a=1", "b=2", "c=3")
		b.commit()
		if err := b.Erase([]int64{0}, false); err != nil {
			t.Fatal(err)
		}
		if err := end(b.Log); err != nil {
			t.Fatal(err)
		}
		before, _ := fs.List(b.o.Dir)
		for _, offsets := range [][]int64{nil, {1}} {
			if err := b.Erase(offsets, true); !errors.Is(err, ErrClosed) {
				t.Errorf("erase %v: %v", offsets, err)
			}
		}
		if after, _ := fs.List(b.o.Dir); len(after) != len(before) {
			t.Errorf("files %v, then %v", before, after)
		}
		b.chores()
	}
}
