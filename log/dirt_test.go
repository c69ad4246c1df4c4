package log

import (
	"path"
	"slices"
	"testing"
	"time"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

func TestLagAndActiveSegment(t *testing.T) {
	b := openBench(t, memfs.New())
	b.put(1, "a=1", "a=2")
	b.seal()
	b.put(1, "a=3")
	b.commit()
	late := time.Now().Add(time.Minute)
	if d := b.Dirt(late, time.Hour); d.Dirty != 0 || d.Ratio() != 0 || !d.Since.IsZero() {
		t.Errorf("too young, but %+v", d)
	}
	if done := b.compact(late, Compaction{MinLag: time.Hour}); done != (Compacted{}) {
		t.Errorf("too young, but %+v", done)
	}
	d := b.Dirt(late, time.Second)
	if d.Dirty != b.segments[0].size || d.Ratio() != 1 || d.Since.After(late) || d.Since.IsZero() {
		t.Errorf("%+v", d)
	}
	b.compact(late, Compaction{MinLag: time.Second})
	b.want("0-1[ 1:a=2@2 ] 2-2[ 2:a=3@1 ]")
	if d := b.Dirt(late, 0); d.Dirty != 0 || d.Clean != b.segments[0].size {
		t.Errorf("%+v", d)
	}
}

// The age of records is not lost: retention still finds them old after a restart.
func TestCompactKeepsArrivalTimes(t *testing.T) {
	for _, fs := range []vfs.FS{memfs.New(), vfs.OS{}} {
		b := openBench(t, fs, func(o *Options) {
			o.Dir, o.Config.RetentionAge = path.Join(t.TempDir(), "t/p"), time.Hour
		})
		b.put(1, "a=1", "a=2")
		b.seal()
		arrived := time.Now().Add(-30 * time.Minute).Truncate(time.Second)
		b.segments[0].last = arrived
		b.compact(time.Now(), Compaction{})
		b.put(1, "a=3")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.reopen(fs)
		if got := b.segments[0].last; !got.Equal(arrived) {
			t.Errorf("%T: arrived %v, want %v", fs, got, arrived)
		}
		r, err := b.Retain(time.Now().Add(31 * time.Minute))
		if err != nil || r.Segments != 1 || r.Start != 2 {
			t.Errorf("%T: %+v, %v", fs, r, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadCompacted(t *testing.T) {
	fs := memfs.New()
	write := func(b []byte) {
		if err := writeAtomic(fs, compactedName, b); err != nil {
			t.Fatal(err)
		}
	}
	good := encodeCompacted(12345)
	write(good)
	if got := readCompacted(fs, ""); got != 12345 {
		t.Error(got)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 4
		write(bad)
		if got := readCompacted(fs, ""); got != 0 {
			t.Errorf("byte %d flipped: %d", i, got)
		}
	}
	for n := range good {
		write(good[:n])
		if got := readCompacted(fs, ""); got != 0 {
			t.Errorf("%d bytes: %d", n, got)
		}
	}
}

func TestSwapName(t *testing.T) {
	if base, end, ok := parseSwapName(swapName(5, 1<<40)); base != 5 || end != 1<<40 || !ok {
		t.Error(base, end, ok)
	}
	for _, bad := range []string{"", swapName(5, 5), swapName(6, 5), "5-6.swap", swapName(5, 6) + "x", "x" + swapName(5, 6), "00000000000000000000.log"} {
		if _, _, ok := parseSwapName(bad); ok {
			t.Errorf("%q is taken for a swap", bad)
		}
	}
}
