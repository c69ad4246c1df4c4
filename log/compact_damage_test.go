package log

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brokerd/log/vfs/memfs"
)

// rot flips a bit in the records of the batch with this base offset.
func (b *bench) rot(base int64) {
	b.t.Helper()
	for i, s := range b.segments {
		if i+1 < len(b.segments) && b.segments[i+1].base <= base {
			continue
		}
		file, err := b.fs.Open(s.path)
		if err != nil {
			b.t.Fatal(err)
		}
		defer file.Close()
		w := walkFile(file, make([]byte, readBuffer), s.size, s.base, maxBase)
		for {
			st, err := w.step()
			if err != nil {
				b.t.Fatalf("batch %d: %v", base, err)
			}
			if st.header != nil && st.header.BaseOffset() == base {
				b.flip(s, st.end-3)
				return
			}
		}
	}
}

func (b *bench) flip(s *segment, pos int64) {
	b.t.Helper()
	file, err := b.fs.Open(s.path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	one := make([]byte, 1)
	if _, err := file.ReadAt(one, pos); err != nil {
		b.t.Fatal(err)
	}
	one[0] ^= 8
	if _, err := file.WriteAt(one, pos); err != nil {
		b.t.Fatal(err)
	}
}

// Damage stays where it is and withholds the offsets that it withheld before, whatever goes around it.
func TestCompactAroundDamage(t *testing.T) {
	tests := []struct {
		name   string
		rotten []int64 // base offsets
		known  bool    // a reader has met it before
		want   string
		lost   []string // first-last of each damaged range
	}{
		{"in the middle", []int64{2}, false, "0-1[ ] 4-5[ ] 6-7[ 6:a=5@1 7:b=3@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"2-3"}},
		{"known", []int64{2}, true, "0-1[ ] 4-5[ ] 6-7[ 6:a=5@1 7:b=3@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"2-3"}},
		{"first", []int64{0}, false, "2-3[ ] 6-7[ 6:a=5@1 7:b=3@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"0-1"}},
		{"at the end", []int64{4}, false, "2-3[ ] 6-7[ 6:a=5@1 7:b=3@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"4-5"}},
		{"two in a row", []int64{2, 4}, false, "0-1[ ] 6-7[ 6:a=5@1 7:b=3@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"2-5"}},
		{"in the second segment", []int64{8}, false, "4-5[ 4:c=2@1 ] 6-7[ 6:a=5@1 7:b=3@2 ]", []string{"8-9"}},
		{"of what is newer", []int64{6}, false, "2-3[ 2:a=3@1 ] 4-5[ 5:b=2@2 ] 8-9[ 8:c=3@1 9:x=1@2 ]", []string{"6-7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := memfs.New()
			var met []CorruptError
			b := openBench(t, fs, func(o *Options) {
				o.OnDamage = func(d CorruptError) { met = append(met, d) }
			})
			b.put(1, "a=1", "b=1")
			b.put(1, "a=3", "c=1")
			b.put(1, "c=2", "b=2")
			b.seal()
			b.put(1, "a=5", "b=3")
			b.put(1, "c=3", "x=1")
			b.seal()
			for _, base := range tt.rotten {
				b.rot(base)
			}
			if tt.known {
				b.reopen(fs.Kill())
				_ = contents(t, b.Log)
			}
			check := func(when string) {
				t.Helper()
				b.want(tt.want)
				var lost []string
				for _, d := range b.Log.Damaged() {
					lost = append(lost, fmt.Sprintf("%d-%d", d.First, d.Last))
					var corrupt *CorruptError
					if _, err := b.Read(d.Last, 1); !errors.As(err, &corrupt) || corrupt.First != d.First || corrupt.Last != d.Last {
						t.Errorf("%s: read %d: %v", when, d.Last, err)
					}
				}
				if !slices.Equal(lost, tt.lost) || len(met) != len(tt.lost) {
					t.Errorf("%s: damage %v, want %v; met %v", when, lost, tt.lost, met)
				}
				b.checkFiles()
			}
			b.compact(time.Now(), Compaction{})
			check("compacted")
			met = nil
			b.reopen(b.fs.(*memfs.FS).Kill())
			_ = contents(t, b.Log)
			check("in the next process")
			met = nil
			b.dirtyFrom = 0
			b.compact(time.Now(), Compaction{})
			met = b.Log.Damaged()
			check("compacted again")
		})
	}
}

// Wherever the process or the power ends a round, the next process finds a log that holds what it should, and the next
// round brings it to where an undisturbed one does.
func TestCompactInterruptedAnywhere(t *testing.T) {
	fill := func() (*bench, *memfs.FS) {
		fs := memfs.New()
		b := openBench(t, fs, func(o *Options) { o.Config.SegmentBytes = 400 })
		for i := range 24 {
			b.put(int64(i), fmt.Sprintf("k%d=%d", i%7, i), fmt.Sprintf("d%d", i%5))
		}
		b.seal()
		return b, fs
	}
	o := Compaction{KeyMemory: 10 * keyCost, TombstoneAge: -1}
	b, fs := fill()
	b.checkFiles()
	before := contents(t, b.Log)
	total := 0
	fs.Fail(func(memfs.Op) error { total++; return nil })
	if done := b.compact(time.Now(), o); done.Passes < 1 || done.Records < 30 {
		t.Fatalf("%+v", done)
	}
	fs.Fail(nil)
	want := contents(t, b.Log)
	t.Logf("%d operations", total)

	type stop struct{}
	for n := range total {
		for how := range 3 {
			b, fs := fill()
			left := n
			fs.Fail(func(memfs.Op) error {
				if left--; left < 0 {
					panic(stop{})
				}
				return nil
			})
			func() {
				defer func() {
					if p := recover(); p != (stop{}) {
						t.Fatalf("operation %d: %v", n, p)
					}
				}()
				_, _ = b.Compact(context.Background(), time.Now(), o)
			}()
			fs.Fail(nil)
			switch how {
			case 0:
				fs = fs.Kill()
			case 1:
				fs = fs.Crash(nil)
			case 2:
				fs = fs.Crash(rand.New(rand.NewPCG(uint64(n), 0)))
			}
			found := scannedContents(t, fs, b.o.Dir)
			b.reopen(fs)
			if b.IndexesRebuilt > 0 || len(b.Log.Damaged()) > 0 || b.SkippedOffsets > 0 {
				t.Fatalf("operation %d, %d: %+v", n, how, b.Recovery)
			}
			got := contents(t, b.Log)
			if got != found {
				t.Errorf("a scan before the start found\n%s, a reader after it\n%s", found, got)
			}
			if n == 0 && got != before {
				t.Fatalf("before the first operation: %s", got)
			}
			b.checkFiles()
			if t.Failed() {
				t.Fatalf("operation %d of %d, %d", n, total, how)
			}
			b.compact(time.Now(), o)
			b.want(want)
			b.checkFiles()
			if t.Failed() {
				t.Fatalf("operation %d of %d, %d", n, total, how)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// scannedContents is contents for a log that is not open.
func scannedContents(t *testing.T, fs *memfs.FS, dir string) string {
	t.Helper()
	var all []string
	err := Scan(fs, dir, func(f Found) error {
		if f.Damage != nil {
			t.Error(f.Damage)
			return nil
		}
		all = append(all, describe(t, f.Batch))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// A fault that passes costs a round; one after the new segment has taken over is final, but everything can be read.
func TestCompactFaults(t *testing.T) {
	tests := []struct {
		name  string
		fault func(memfs.Op) error
		want  error
		fatal bool
	}{
		{"no space for the segment", memfs.From(memfs.Write, "*.log.cleaned", 1, syscall.ENOSPC), ErrNoSpace, false},
		{"no space for its index", memfs.From(memfs.Write, "*.index.cleaned.tmp", 1, syscall.ENOSPC), ErrNoSpace, false},
		{"no descriptor", memfs.Nth(memfs.Create, "*.log.cleaned", 1, syscall.EMFILE), ErrTooManyFiles, false},
		{"no descriptor for the directory", memfs.From(memfs.SyncDir, "*", 3, syscall.EMFILE), ErrTooManyFiles, false},
		{"the new segment cannot be synced", memfs.Nth(memfs.Sync, "*.log.cleaned", 1, syscall.EIO), syscall.EIO, false},
		{"an old segment cannot be read", memfs.From(memfs.Read, "*.log", 3, syscall.EIO), syscall.EIO, false},
		{"it cannot be renamed", memfs.Nth(memfs.Rename, "*.log.cleaned", 1, syscall.EIO), syscall.EIO, false},
		{"its name cannot be synced", memfs.Nth(memfs.SyncDir, "*", 2, syscall.EIO), ErrFailed, true},
		{"an old segment cannot be removed", memfs.Nth(memfs.Remove, "*00010.log", 1, syscall.EIO), ErrFailed, true},
		{"the index cannot be renamed", memfs.Nth(memfs.Rename, "*.index.cleaned", 1, syscall.EIO), ErrFailed, true},
		{"it cannot be renamed again", memfs.Nth(memfs.Rename, "*.swap", 1, syscall.EIO), ErrFailed, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs, func(o *Options) { o.Files = NewFiles(0) })
			for i := range 10 {
				b.put(int64(i), fmt.Sprintf("a%d=%d", i%2, i))
			}
			b.seal()
			for i := range 10 {
				b.put(int64(i), fmt.Sprintf("b%d=%d", i%2, i))
			}
			b.seal()
			fs.Fail(tt.fault)
			_, err := b.Compact(context.Background(), time.Now(), Compaction{})
			fs.Fail(nil)
			if !errors.Is(err, tt.want) || (b.Err() != nil) != tt.fatal {
				t.Fatalf("%v; the log: %v", err, b.Err())
			}
			if got := len(batchesFrom(t, b.Log, 0, 300)); got < 4 {
				t.Fatalf("%d batches left", got)
			}
			if tt.fatal {
				if err := b.Close(); !errors.Is(err, ErrFailed) {
					t.Fatal(err)
				}
				if open := fs.OpenFiles(); len(open) > 0 {
					t.Fatal("open after close:", open)
				}
				b.reopen(fs)
			}
			b.compact(time.Now(), Compaction{})
			b.want("8-8[ 8:a0=8@8 ] 9-9[ 9:a1=9@9 ] 18-18[ 18:b0=8@8 ] 19-19[ 19:b1=9@9 ]")
			b.checkFiles()
		})
	}
}
