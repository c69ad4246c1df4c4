package log

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"brokerd/log/vfs/memfs"
)

// TestFilesBound writes, rolls and reads many logs through a small cache.
func TestFilesBound(t *testing.T) {
	const logs, limit = 50, 8
	fs := memfs.New()
	var benches []*bench
	first := openBench(t, fs, func(o *Options) { o.Files = NewFiles(limit); o.Dir = "t/0" })
	benches = append(benches, first)
	for i := 1; i < logs; i++ {
		benches = append(benches, openBench(t, fs, func(o *Options) {
			o.Dir, o.Files, o.Committer = fmt.Sprint("t/", i), first.o.Files, first.o.Committer
		}))
	}
	most := 0
	for round := range 20 {
		for i, b := range benches {
			b.append(2, int64(round), 100)
			if i%4 == 0 {
				b.commit() // of at most four logs with unsynced writes
			}
			most = max(most, len(fs.OpenFiles()))
			b.readAll(0, 1000)
		}
		first.commit()
	}
	if most > limit+4+1 || first.o.Files.Open() > limit {
		t.Errorf("%d files were open, %d are, the limit is %d", most, first.o.Files.Open(), limit)
	}
	for _, b := range benches {
		if got := len(b.readAll(0, 300)); got != 20 {
			t.Errorf("%d batches", got)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if open := fs.OpenFiles(); len(open) > 0 || first.o.Files.Open() != 0 {
		t.Error("open at the end:", open)
	}
}

// TestRangeOutlivesItsSegment: what a reader holds can be read, whatever happens to the log.
func TestRangeOutlivesItsSegment(t *testing.T) {
	for name, end := range map[string]func(b *bench) error{
		"trim":   func(b *bench) error { return b.Trim(b.Bounds().Durable) },
		"close":  func(b *bench) error { return b.Close() },
		"remove": func(b *bench) error { return b.Remove() },
	} {
		t.Run(name, func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs)
			b.fill(3)
			r, err := b.Read(0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			want, err := r.ReadAll(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(b); err != nil {
				t.Fatal(err)
			}
			got, err := r.ReadAll(nil)
			if err != nil || string(got) != string(want) {
				t.Errorf("read again: %v", err)
			}
			r.Close()
			if name != "trim" {
				if open := fs.OpenFiles(); len(open) > 0 {
					t.Error("still open:", open)
				}
			}
			if name == "remove" {
				if entries, err := fs.List("t"); err != nil || len(entries) > 0 {
					t.Error("left behind:", entries, err)
				}
			}
		})
	}
}

// TestConcurrent uses one log from all sides at once, for the race detector.
func TestConcurrent(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs, func(o *Options) { o.Files = NewFiles(3); o.Config.RetentionBytes = 20000 })
	stop := b.run()
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 500 {
			a, err := b.Append(timedBatch(t, 2, int64(i), 100))
			if err != nil {
				t.Error(err)
				return
			}
			if i%10 == 0 {
				if err := b.WaitDurable(t.Context(), a.Last); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 3 {
		all.Go(func() {
			ch := make(chan struct{}, 1)
			defer b.Watch(ch)()
			for offset := int64(0); offset < 1000; {
				r, err := b.Read(max(offset, b.Bounds().Start), 3000)
				if err != nil {
					continue // below Start by now
				}
				if r.Length == 0 {
					<-ch
					continue
				}
				if raw, err := r.ReadAll(nil); err != nil || Batch(raw).BaseOffset() != r.Base {
					t.Error(err)
				}
				offset = r.Next
				r.Close()
			}
		})
	}
	all.Go(func() {
		for range 100 {
			if _, err := b.Retain(time.Now()); err != nil {
				t.Error(err)
			}
			if _, _, err := b.MaxTimestamp(); err != nil {
				t.Error(err)
			}
			if _, _, err := b.OffsetForTime(50); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	stop()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if open := fs.OpenFiles(); len(open) > 0 {
		t.Error("still open:", open)
	}
}
