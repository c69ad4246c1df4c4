package log

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"brokerd/log/vfs/memfs"
)

func timesBatch(t rapid.TB, codec Codec, times ...int64) Batch {
	t.Helper()
	bld := Builder{Codec: codec}
	for _, ms := range times {
		bld.Add(Record{Timestamp: ms, Value: []byte("value")})
	}
	b, err := bld.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOffsetForTime is exact to the record, whatever the batches.
func TestOffsetForTime(t *testing.T) {
	for name, c := range map[string]struct {
		batches [][]int64
		trim    int64
		want    []int64 // for times 1 to 9; -1 for none
		max     int64
	}{
		"one batch":    {[][]int64{{2, 4, 6, 8}}, 0, []int64{0, 0, 1, 1, 2, 2, 3, 3, -1}, 3},
		"four":         {[][]int64{{2}, {4}, {6}, {8}}, 0, []int64{0, 0, 1, 1, 2, 2, 3, 3, -1}, 3},
		"shuffled":     {[][]int64{{8}, {2}, {6}, {4}}, 0, []int64{0, 0, 0, 0, 0, 0, 0, 0, -1}, 0},
		"shuffled one": {[][]int64{{8, 2, 6, 4}}, 0, []int64{0, 0, 0, 0, 0, 0, 0, 0, -1}, 0},
		"trimmed":      {[][]int64{{2}, {4}, {6}, {8}}, 2, []int64{2, 2, 2, 2, 2, 2, 3, 3, -1}, 3},
		"trimmed one":  {[][]int64{{8, 2, 6, 4}}, 1, []int64{1, 1, 2, 2, 2, 2, -1, -1, -1}, 2},
		"equal":        {[][]int64{{3, 5, 5}, {5, 4}}, 0, []int64{0, 0, 0, 1, 1, -1, -1, -1, -1}, 1},
		"empty":        {nil, 0, []int64{-1, -1, -1, -1, -1, -1, -1, -1, -1}, -1},
	} {
		for _, codec := range []Codec{NoCodec, Zstd} {
			t.Run(fmt.Sprint(name, codec), func(t *testing.T) {
				b := openBench(t, memfs.New())
				for _, times := range c.batches {
					if _, err := b.Append(timesBatch(t, codec, times...)); err != nil {
						t.Fatal(err)
					}
				}
				if _, found, err := b.OffsetForTime(1); found || err != nil {
					t.Error("found what is not durable:", err)
				}
				if _, found, err := b.MaxTimestamp(); found || err != nil {
					t.Error("found what is not durable:", err)
				}
				b.commit()
				if err := b.Trim(c.trim); err != nil {
					t.Fatal(err)
				}
				for i, want := range c.want {
					at, found, err := b.OffsetForTime(int64(i + 1))
					if !found {
						at.Offset = -1
					}
					if err != nil || at.Offset != want {
						t.Errorf("time %d: %+v, want offset %d, %v", i+1, at, want, err)
					}
				}
				at, found, err := b.MaxTimestamp()
				if err != nil || found != (c.max >= 0) || found && at.Offset != c.max {
					t.Errorf("max: %+v, want offset %d, %v", at, c.max, err)
				}
			})
		}
	}
}

// TestTimesModel compares with a search through all records, over segments, trims and records not yet durable.
func TestTimesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{FS: memfs.New(), Dir: "p", Committer: NewCommitter(CommitterOptions{}), Files: NewFiles(3), Config: smallConfig()}
		o.Config.SegmentBytes = rapid.Int64Range(200, 1000).Draw(t, "segment")
		o.Config.IndexInterval = rapid.IntRange(0, 300).Draw(t, "interval")
		l, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		durable := rapid.IntRange(0, 40).Draw(t, "durable")
		for i := range 40 {
			if i == durable {
				o.Committer.drain()
			}
			some := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 4).Draw(t, "times")
			if _, err := l.Append(timesBatch(t, NoCodec, some...)); err != nil {
				t.Fatal(err)
			}
			times = append(times, some...)
		}
		b := l.Bounds()
		start := rapid.Int64Range(0, b.Durable).Draw(t, "start")
		if err := l.Trim(start); err != nil {
			t.Fatal(err)
		}
		readable := times[start:b.Durable]
		for ms := range int64(52) {
			want, newest := int64(-1), int64(-1)
			for i, time := range readable {
				if time >= ms && want < 0 {
					want = start + int64(i)
				}
				if newest < 0 || time > times[newest] {
					newest = start + int64(i)
				}
			}
			at, found, err := l.OffsetForTime(ms)
			if err != nil || found != (want >= 0) || found && (at.Offset != want || at.Timestamp != times[want]) {
				t.Fatalf("time %d: %+v %v %v, want %d", ms, at, found, err, want)
			}
			if ms > 0 {
				continue
			}
			at, found, err = l.MaxTimestamp()
			if err != nil || found != (newest >= 0) || found && (at.Offset != newest || at.Timestamp != times[newest]) {
				t.Fatalf("max: %+v %v %v, want %d", at, found, err, newest)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
