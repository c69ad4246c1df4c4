package log

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"brokerd/log/vfs/memfs"
)

// erasedSoFar is what Erase has returned for.
type erasedSoFar struct {
	mu   sync.Mutex
	list map[int64]int // offset to its place in the order of erasing
}

// count is how many there are now.
func (e *erasedSoFar) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.list)
}

func (e *erasedSoFar) add(offsets []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range offsets {
		if _, known := e.list[o]; !known {
			e.list[o] = len(e.list)
		}
	}
}

// before says that an offset was erased when the count was n.
func (e *erasedSoFar) before(offset int64, n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, known := e.list[offset]
	return known && at < n
}

// TestNobodyReadsWhatIsErased appends, erases, compacts, trims and reads one log at the same time: no read that begins after
// Erase has returned shows a record of it, also while segments are swapped below the reader.
func TestNobodyReadsWhatIsErased(t *testing.T) {
	const records = 3000
	b := openBench(t, memfs.New(), func(o *Options) { o.Files = NewFiles(3); o.Config.SegmentBytes = 3000 })
	stop := b.run()
	gone := &erasedSoFar{list: map[int64]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var writers, others sync.WaitGroup
	writers.Go(func() {
		for range records / 3 {
			a, err := b.Append(timedBatch(t, 3, 1, 30))
			if err == nil && a.Base%30 == 0 {
				err = b.WaitDurable(ctx, a.Last)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	writers.Go(func() {
		for i := range 600 {
			bounds := b.Bounds()
			if bounds.Start == bounds.Durable {
				continue
			}
			offsets := make([]int64, 1+rand.IntN(5))
			for j := range offsets {
				offsets[j] = bounds.Start + rand.Int64N(bounds.Durable-bounds.Start)
			}
			if err := b.Erase(offsets, i%5 == 0); err != nil {
				t.Error(err)
			}
			start := b.Bounds().Start // what is below it may have been trimmed before it was erased
			gone.add(slices.DeleteFunc(offsets, func(o int64) bool { return o < start }))
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			_, err := b.Compact(ctx, time.Now(), Compaction{ErasedOnly: true, ErasedShare: 0.05})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			if bounds := b.Bounds(); rand.IntN(10) == 0 {
				if err := b.TrimSoon(bounds.Start + (bounds.Durable-bounds.Start)/50); err != nil {
					t.Error(err)
				}
			}
			b.o.Committer.callLater()
		}
	})
	for range 3 {
		others.Go(func() {
			for ctx.Err() == nil {
				readSome(t, b, gone)
			}
		})
	}
	writers.Wait()
	cancel()
	others.Wait()
	stop()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// readSome reads from a random offset and checks what is shown.
func readSome(t *testing.T, b *bench, gone *erasedSoFar) {
	bounds, n := b.Bounds(), gone.count()
	r, err := b.Read(bounds.Start+rand.Int64N(bounds.End-bounds.Start+1), 1+rand.Int64N(2000))
	var outside *RangeError
	if errors.As(err, &outside) {
		return // trimmed meanwhile
	}
	if err != nil {
		t.Error(err)
		return
	}
	raw, err := r.ReadAll(nil)
	r.Close()
	if err != nil {
		t.Error(err)
		return
	}
	for len(raw) > 0 {
		var batch Batch
		if batch, raw, err = ParseBatch(raw); err == nil {
			err = batch.CheckCRC()
		}
		if err != nil {
			t.Error(err)
			return
		}
		err = batch.Each(unpackLimit, func(r Record) bool {
			if gone.before(r.Offset, n) {
				t.Errorf("the erased record %d was read", r.Offset)
			}
			return true
		})
		if err != nil {
			t.Error(err)
		}
	}
}
