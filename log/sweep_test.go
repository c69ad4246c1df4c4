package log

import (
	"slices"
	"testing"

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
	if got := slices.Collect(b.Erased(0, 10)); !slices.Equal(got, []int64{1}) {
		t.Errorf("erased %v", got)
	}
	b.wantOffsets("swept", 2)
}
