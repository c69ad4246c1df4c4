package log

import (
	"math"
	"testing"

	"brokerd/log/vfs/memfs"
)

func TestGap(t *testing.T) {
	disk := memfs.New()
	b := openBench(t, disk)
	var want []int64
	add := func(batch Batch) {
		t.Helper()
		at, err := b.Append(batch)
		if err != nil {
			t.Fatal(err)
		}
		if batch.Count() > 0 {
			want = append(want, at.Base)
		}
	}
	add(timedBatch(t, 1, 1000, 10))
	add(Gap(5, 1000))
	add(timedBatch(t, 1, 1000, 10))
	add(Gap(math.MaxInt32, 1000))
	add(Gap(math.MaxInt32, 1000))
	add(timedBatch(t, 1, 1000, 10))
	b.commit()
	check := func(when string) {
		t.Helper()
		end := int64(7 + 2*math.MaxInt32 + 1)
		if bounds := b.Bounds(); bounds.Durable != end {
			t.Fatalf("%s: %+v, want %d", when, bounds, end)
		}
		var got []int64
		for offset := int64(0); offset < end; {
			r, err := b.Read(offset, 1)
			if err != nil {
				t.Fatalf("%s: read %d: %v", when, offset, err)
			}
			data, err := r.ReadAll(nil)
			if err != nil {
				t.Fatal(err)
			}
			for len(data) > 0 {
				batch, rest, err := ParseBatch(data)
				if err != nil {
					t.Fatal(err)
				}
				err = batch.Each(1000, func(r Record) bool {
					got = append(got, r.Offset)
					return true
				})
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				data = rest
			}
			offset = r.Next
			r.Close()
		}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("%s: offsets %v, want %v", when, got, want)
		}
	}
	check("written")
	b.reopen(disk.Crash(nil))
	check("after a power failure")
	if len(b.Log.Damaged()) > 0 {
		t.Error(b.Log.Damaged())
	}
}
