package log

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"brokerd/log/vfs/memfs"
)

func TestTrim(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.fill(5)
	end := b.Bounds().End
	a := b.append(2, 1, 10) // not durable
	for _, to := range []int64{5, 3, 31, 31, b.segments[2].base, end} {
		if err := b.Trim(to); err != nil {
			t.Fatal(err)
		}
		start := max(b.Bounds().Start, to)
		if b.Bounds().Start != start || b.segments[0].base > start {
			t.Fatalf("trim to %d: %+v", to, b.Bounds())
		}
		if _, err := b.Read(start-1, 1); !errors.As(err, new(*RangeError)) {
			t.Error("read below start:", err)
		}
		fs = fs.Kill()
		b.reopen(fs)
		if b.Bounds().Start != start || b.Bounds().End != end+2 {
			t.Fatalf("after a kill: %+v", b.Bounds())
		}
	}
	if err := b.Trim(a.Last + 2); !errors.As(err, new(*RangeError)) {
		t.Error("trim above durable:", err)
	}
	if len(b.segments) != 1 {
		t.Errorf("%d segments left", len(b.segments))
	}
}

func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := memfs.New()
		b := openBench(t, fs, func(o *Options) { o.Config.RetentionAge = time.Hour; o.Config.SegmentAge = 10 * time.Hour })
		farAhead := time.Now().Add(10 * 365 * 24 * time.Hour).UnixMilli()
		for len(b.segments) < 5 { // records from the future keep nothing alive
			b.append(2, farAhead, 50)
			time.Sleep(time.Minute)
		}
		b.commit()
		retain := func(want int) Retention {
			t.Helper()
			r, err := b.Retain(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if len(b.segments) != want || r.Start != b.Bounds().Start || r.Start != b.segments[0].base {
				t.Fatalf("%d segments, want %d: %+v %+v", len(b.segments), want, r, b.Bounds())
			}
			return r
		}
		retain(5)
		time.Sleep(40 * time.Minute)
		if r := retain(3); r.Segments != 2 || r.Bytes < 3000 || r.Rolled {
			t.Errorf("%+v", r)
		}
		// Nothing came for an hour: the active segment goes too, and the offsets go on.
		end := b.Bounds().End
		time.Sleep(time.Hour)
		if r := retain(1); !r.Rolled || r.Segments != 3 || r.Start != end {
			t.Errorf("%+v", r)
		}
		if b.Size() != 0 {
			t.Errorf("%d bytes left", b.Size())
		}
		b.reopen(fs.Crash(nil))
		if b.Bounds() != (Bounds{end, end, end, end}) {
			t.Errorf("after a crash: %+v", b.Bounds())
		}
		// Rolling by age.
		b.append(2, 1, 10)
		b.commit()
		c := b.o.Config
		c.RetentionAge, c.SegmentAge = -1, time.Minute
		b.SetConfig(c)
		retain(1)
		time.Sleep(time.Minute)
		if r := retain(2); !r.Rolled {
			t.Errorf("%+v", r)
		}
		retain(2) // an empty one is not rolled
	})
}

func TestRetentionBySize(t *testing.T) {
	b := openBench(t, memfs.New())
	b.fill(5)
	c := b.o.Config
	c.RetentionBytes = b.Size() - b.segments[0].size - 1
	b.SetConfig(c)
	if r, err := b.Retain(time.Now()); err != nil || r.Segments != 1 || b.Size() < c.RetentionBytes {
		t.Fatalf("%+v %v, %d bytes left of %d", r, err, b.Size(), c.RetentionBytes)
	}
	c.RetentionBytes = 0
	b.SetConfig(c)
	if r, err := b.Retain(time.Now()); err != nil || len(b.segments) != 1 || r.Rolled {
		t.Fatalf("%+v %v, %d segments", r, err, len(b.segments))
	}
	if got := b.readAll(b.Bounds().Start, 1); len(got) == 0 {
		t.Error("the active segment is gone")
	}
}

// TestRetainWaitsForSync: what nobody was told yet is not deleted.
func TestRetainWaitsForSync(t *testing.T) {
	b := openBench(t, memfs.New(), func(o *Options) { o.Config.RetentionAge = 0 })
	for range 40 {
		b.append(2, 1, 50)
	}
	if r, err := b.Retain(time.Now()); err != nil || r.Segments != 0 || b.Bounds().Start != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	b.commit()
	if r, err := b.Retain(time.Now()); err != nil || r.Segments == 0 || b.Bounds().Start != b.Bounds().End {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestEpochEnd(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs, func(o *Options) { o.Config.SegmentBytes = 1 << 20 })
	for range 2 { // twice something is cut off that somebody may have seen
		b.append(2, 1, 100)
		b.append(2, 1, 100)
		b.commit()
		name := b.active().path
		fs = fs.Crash(nil)
		edit(t, fs, name, func(b []byte) []byte { return b[:len(timedBatch(t, 2, 1, 100))*2-5] })
		b.reopen(fs)
	}
	a := b.append(2, 1, 100)
	b.commit()
	for epoch, want := range map[int32][2]int64{-1: {-1, 0}, 0: {0, 4}, 1: {1, 8}, 2: {2, 10}, 3: {-1, -1}} {
		if e, end := b.EpochEnd(epoch); int64(e) != want[0] || end != want[1] {
			t.Errorf("epoch %d: %d ends at %d, want %v", epoch, e, end, want)
		}
	}
	r, err := b.Read(a.Base, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if raw, err := r.ReadAll(nil); err != nil || Batch(raw).LeaderEpoch() != 2 || b.Epoch() != 2 {
		t.Error(err, b.Epoch())
	}
	edit(t, fs, "t/p/checkpoint", remove)
	b.reopen(fs.Kill())
	if b.Epoch() != 2 || b.Checkpoint == nil {
		t.Errorf("without a checkpoint: epoch %d, %v", b.Epoch(), b.Checkpoint)
	}
}
