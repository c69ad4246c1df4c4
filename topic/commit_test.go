package topic

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"brokerd/log/vfs/memfs"
)

// TestWritersShareSyncs has a writer for each of several topics that appends through its Tail and waits, again and again, as
// a stream's writer does, beside Kafka producers of the same topics. No round costs more than one sync of its own log, and
// erasing without waiting costs none.
func TestWritersShareSyncs(t *testing.T) {
	const writers, rounds = 8, 50
	w := newWorld(t)
	var partitions []*Partition
	for i := range writers {
		w.create(fmt.Sprint("t", i), 1)
		partitions = append(partitions, w.partition(fmt.Sprint("t", i), 0))
	}
	var syncs atomic.Int64
	w.disk.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Sync || op.Kind == memfs.SyncFS || op.Kind == memfs.SyncDir {
			syncs.Add(1)
		}
		return nil
	})
	var group sync.WaitGroup
	for _, p := range partitions {
		group.Go(func() { // the stream's writer
			for range rounds {
				var last int64
				err := p.Exclusive(func(tail Tail) error {
					at, err := tail.Append(batchOf(t, "a", "b", "c"))
					if err != nil {
						return err
					}
					last = at.Last
					return tail.Erase([]int64{at.Base - 1})
				})
				if err == nil {
					err = p.WaitDurable(context.Background(), last)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() { // a Kafka producer
			for range rounds {
				at, err := p.Append(batchOf(t, "k"))
				if err == nil {
					err = p.WaitDurable(context.Background(), at.Last)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w.disk.Fail(nil)
	// Each new name costs a sync of its directory, and about once a second the erased offsets are written.
	if n := syncs.Load(); n > 2*writers*rounds+writers*10 {
		t.Errorf("%d syncs for %d rounds", n, 2*writers*rounds)
	}
}

// TestOneRoundIsOneSync counts what a batch costs from Tail.Append to WaitDurable.
func TestOneRoundIsOneSync(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "first")) // and the names of the files
	kinds := make(map[memfs.Kind]int)
	var mu sync.Mutex
	w.disk.Fail(func(op memfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		kinds[op.Kind]++
		return nil
	})
	for range 10 {
		var last int64
		err := p.Exclusive(func(tail Tail) error {
			at, err := tail.Append(batchOf(t, "x", "y"))
			last = at.Last
			return err
		})
		if err == nil {
			err = p.WaitDurable(context.Background(), last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.disk.Fail(nil)
	mu.Lock()
	defer mu.Unlock()
	if kinds[memfs.Write] != 10 || kinds[memfs.Sync] != 10 || len(kinds) != 2 {
		t.Errorf("operations %v, want one write and one sync each", kinds)
	}
}
