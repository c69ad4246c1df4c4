package log

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"brokerd/log/vfs/memfs"
)

// TestSweptSegmentIsDueAgain erases most of a segment, and then most of what that left: the share is one of the records that
// are there.
func TestSweptSegmentIsDueAgain(t *testing.T) {
	for _, restart := range []bool{false, true} {
		fs := memfs.New()
		b := openBench(t, fs)
		for range 10 {
			b.append(10, 1, 1)
		}
		b.seal()
		b.erase(slices.Sorted(rangeOf(0, 90))...)
		b.sweepAll()
		if restart {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b.reopen(fs)
		}
		b.erase(90, 91, 92, 93, 94)
		if b.Reclaimable(0.5) {
			t.Error("five of ten are no more than a half")
		}
		b.erase(95)
		if !b.Reclaimable(0.5) {
			t.Error("six of ten are more than a half")
		}
		b.sweepAll()
		b.wantOffsets("swept twice", 96, 97, 98, 99)
		b.checkFiles()
	}
}

// TestSweepJoinsSmallSegments leaves few segments, not one for each that was full once.
func TestSweepJoinsSmallSegments(t *testing.T) {
	b := openBench(t, memfs.New())
	var kept []int64
	for i := range int64(20) {
		b.append(10, 1, 150)
		b.seal()
		b.erase(slices.Sorted(rangeOf(10*i, 10*i+9))...)
		kept = append(kept, 10*i+9)
		b.sweepAll()
	}
	b.wantOffsets("swept", kept...)
	if n := len(b.segments); n > 5 {
		t.Errorf("%d segments", n)
	}
	b.checkFiles()
}

// TestLargeActiveSegmentIsSealed has much erased in the segment that is written to.
func TestLargeActiveSegmentIsSealed(t *testing.T) {
	b := openBench(t, memfs.New(), func(o *Options) { o.Config.SegmentBytes = 1 << 30 })
	for range 20 {
		b.append(1, 1, 1<<20)
	}
	b.commit()
	b.erase(slices.Sorted(rangeOf(0, 10))...)
	if b.Reclaimable(0.5) {
		t.Error("half is not more than half")
	}
	b.erase(10)
	for b.Reclaimable(0.5) {
		b.compact(b.active().last, Compaction{ErasedOnly: true, ErasedShare: 0.5})
		b.commit()
	}
	if b.Size() > 10<<20 {
		t.Errorf("%d bytes are left", b.Size())
	}
	b.wantOffsets("swept", slices.Sorted(rangeOf(11, 20))...)
}

// TestDamageIsNotSweptForEver has a record erased that cannot be read.
func TestDamageIsNotSweptForEver(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1")
	b.put(1, "b=2")
	b.put(1, "c=3")
	b.seal()
	b.rot(1)
	b.reopen(b.fs)
	b.erase(0, 1)
	b.Reclaim()
	for range 3 {
		b.compact(b.active().last, Compaction{ErasedOnly: true, ErasedShare: 0.5})
		b.commit()
	}
	if b.Reclaimable(0.9) {
		t.Error("it is due again and again")
	}
	if got := slices.Collect(b.erased.set.all(0, 10)); !slices.Equal(got, []int64{1}) {
		t.Errorf("erased %v", got)
	}
	b.wantOffsets("swept", 2)
}

// TestReclaim asks for a record to be taken off the disk that is in the active segment.
func TestReclaim(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=secret", "b=2", "c=3", "d=4")
	b.commit()
	b.erase(0)
	if b.Reclaimable(0.5) {
		t.Error("worth it without being asked")
	}
	b.Reclaim()
	for round := range 3 {
		if due := b.Reclaimable(0.5); due != (round < 2) {
			t.Errorf("round %d: due %v", round, due)
		}
		if _, err := b.Compact(context.Background(), time.Now(), Compaction{ErasedOnly: true, ErasedShare: 0.5}); err != nil {
			t.Fatal(err)
		}
		b.commit()
	}
	b.wantOffsets("reclaimed", 1, 2, 3)
	for _, s := range b.segments {
		raw, err := readFile(b.fs, s.path, 1<<20)
		if err != nil || strings.Contains(string(raw), "secret") {
			t.Errorf("%s still has it, %v", s.name(), err)
		}
	}
	b.erase(1, 2)
	if !b.Reclaimable(0.6) || b.Reclaimable(0.7) {
		t.Error("two of three records are more than 0.6 and not more than 0.7")
	}
}
