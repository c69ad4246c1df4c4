package log

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"brokerd/log/vfs/memfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slowDisk makes each sync of these kinds take a while, and counts them.
func slowDisk(fs *memfs.FS, takes time.Duration, kinds ...memfs.Kind) *atomic.Int64 {
	var n atomic.Int64
	fs.Fail(func(op memfs.Op) error {
		for _, k := range kinds {
			if op.Kind == k {
				n.Add(1)
				time.Sleep(takes)
			}
		}
		return nil
	})
	return &n
}

// run starts the committer; the returned function stops it.
func (b *bench) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- b.o.Committer.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error("run:", err)
		}
	}
}

func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := memfs.New()
		observed := 0
		b := openBench(t, fs, func(o *Options) {
			o.Config.SegmentBytes = 1 << 20
			o.Committer = NewCommitter(CommitterOptions{Observe: func(took time.Duration, logs int) {
				observed++
				if took != time.Second || logs != 1 {
					t.Errorf("observed %v, %d logs", took, logs)
				}
			}})
		})
		stop := b.run()
		syncs := slowDisk(fs, time.Second, memfs.Sync)
		began := time.Now()
		var waiters sync.WaitGroup
		for i := range 100 {
			waiters.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				a, err := b.Append(timedBatch(t, 2, 1, 10))
				if err != nil {
					t.Error(err)
				}
				if err := b.WaitDurable(context.Background(), a.Last); err != nil {
					t.Error(err)
				}
				if b.Bounds().Durable <= a.Last {
					t.Errorf("%d answered, durable is %d", a.Last, b.Bounds().Durable)
				}
			})
		}
		waiters.Wait()
		// The first append starts a sync, all others arrive while it runs and share the next one.
		if took := time.Since(began); syncs.Load() != 2 || took != 2*time.Second {
			t.Errorf("%d syncs in %v", syncs.Load(), took)
		}
		stop()
		if observed != 2 {
			t.Errorf("%d syncs observed", observed)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestManyLogsShareOneSyncFS(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs, func(o *Options) { o.Committer = NewCommitter(CommitterOptions{SyncFSFrom: 10}) })
	var logs []*Log
	for i := range 20 {
		o := b.o
		o.Dir = fmt.Sprint("t/", i)
		l, _, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
		if _, err := l.Append(timedBatch(t, 2, 1, 10)); err != nil {
			t.Fatal(err)
		}
	}
	whole, single := countSyncs(fs)
	b.commit()
	if whole.Load() != 1 || single.Load() != 0 {
		t.Errorf("%d syncfs, %d syncs", whole.Load(), single.Load())
	}
	for _, l := range logs {
		if l.Bounds().Durable != 2 {
			t.Errorf("%+v", l.Bounds())
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func countSyncs(fs *memfs.FS) (whole, single *atomic.Int64) {
	whole, single = new(atomic.Int64), new(atomic.Int64)
	fs.Fail(func(op memfs.Op) error {
		switch op.Kind {
		case memfs.SyncFS:
			whole.Add(1)
		case memfs.Sync:
			single.Add(1)
		}
		return nil
	})
	return whole, single
}

func TestAsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := memfs.New()
		b := openBench(t, fs, func(o *Options) {
			o.Committer = NewCommitter(CommitterOptions{AsyncInterval: time.Minute})
			o.Config.Durability = Async
		})
		_, syncs := countSyncs(fs)
		stop := b.run()
		for range 5 {
			a := b.append(2, 1, 10)
			if err := b.WaitDurable(t.Context(), a.Last); err != nil || b.Bounds().Durable != a.Last+1 {
				t.Fatal("wait:", err, b.Bounds())
			}
		}
		synctest.Wait()
		if syncs.Load() != 0 {
			t.Error("synced at once")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if syncs.Load() != 1 {
			t.Errorf("%d syncs after the interval", syncs.Load())
		}
		// A log that becomes Sync does not wait for the interval.
		b.append(2, 1, 10)
		c := b.o.Config
		c.Durability = Sync
		b.SetConfig(c)
		a := b.append(2, 1, 10)
		began := time.Now()
		if err := b.WaitDurable(t.Context(), a.Last); err != nil || time.Since(began) > 0 {
			t.Error("wait:", err, time.Since(began))
		}
		stop()
	})
}

// TestStopFlushes: what was appended before the end of Run is synced by it, also for Async logs.
func TestStopFlushes(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs, func(o *Options) { o.Config.Durability = Async })
	stop := b.run()
	b.append(2, 1, 10)
	stop()
	b.reopen(fs.Crash(nil))
	if b.Bounds().End != 2 {
		t.Errorf("%+v", b.Bounds())
	}
}

// TestFailure lets the disk fail in the middle of use. The error is final and everybody hears of it; what was durable
// before can still be read.
func TestFailure(t *testing.T) {
	for _, c := range []struct {
		name string
		rule func(op memfs.Op) error
	}{
		{"sync", memfs.From(memfs.Sync, "*.log", 1, syscall.EIO)},
		{"sync once", memfs.Nth(memfs.Sync, "*.log", 1, syscall.EIO)},
		{"directory", memfs.From(memfs.SyncDir, "*", 1, syscall.EIO)},
		{"write", memfs.From(memfs.Write, "*.log", 2, syscall.EIO)},
		{"undo of a full disk", func(op memfs.Op) error {
			if op.Kind == memfs.Truncate || op.Kind == memfs.Write && op.Count > 8 {
				return syscall.ENOSPC
			}
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := memfs.New()
				b := openBench(t, fs)
				b.append(2, 1, 10)
				b.commit()
				defer b.run()()
				moved := make(chan struct{}, 1)
				defer b.Watch(moved)()
				waiting := make(chan error)
				go func() { waiting <- b.WaitDurable(context.Background(), 1000) }()
				synctest.Wait()
				fs.Fail(c.rule)
				var last error
				for i := 0; i < 30 && last == nil; i++ { // long enough to roll
					_, last = b.Append(timedBatch(t, 2, 1, 100))
					synctest.Wait()
				}
				<-moved
				if err := <-waiting; !errors.Is(err, ErrFailed) {
					t.Error("wait:", err)
				}
				if !errors.Is(last, ErrFailed) || !errors.Is(b.Err(), ErrFailed) {
					t.Error("append:", last, "log:", b.Err())
				}
				fs.Fail(nil) // the disk is well again: too late
				if _, err := b.Append(timedBatch(t, 2, 1, 100)); !errors.Is(err, ErrFailed) {
					t.Error("append:", err)
				}
				if got := b.readAll(0, 100); len(got) < 1 || got[0] != 0 {
					t.Error("read:", got)
				}
				if err := b.Close(); !errors.Is(err, ErrFailed) {
					t.Error("close:", err)
				}
			})
		})
	}
}

func TestFullDiskHeals(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs, func(o *Options) { o.Config.SegmentBytes = 1 << 20 })
	b.append(2, 1, 10)
	fs.Limit(3000)
	var err error
	appended := int64(0)
	for err == nil {
		appended = b.Bounds().End
		_, err = b.Append(timedBatch(t, 2, 1, 100))
		b.commit()
	}
	if !errors.Is(err, ErrNoSpace) || b.Bounds() != (Bounds{0, appended, appended, appended}) || b.Err() != nil {
		t.Fatal(err, b.Bounds(), b.Err())
	}
	fs.Limit(0)
	if a := b.append(2, 1, 100); a.Base != appended {
		t.Errorf("goes on with %d, want %d", a.Base, appended)
	}
	b.commit()
	b.reopen(fs.Crash(nil))
	if b.Bounds().End != appended+2 || b.CutBytes > 0 {
		t.Errorf("%+v %+v", b.Bounds(), b.Recovery)
	}
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := memfs.New()
		b := openBench(t, fs)
		ctx, cancel := context.WithCancel(context.Background())
		results := make(chan error, 2)
		go func() { results <- b.WaitDurable(ctx, 0) }()
		synctest.Wait()
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		a := b.append(2, 1, 10)
		go func() { results <- b.WaitDurable(context.Background(), a.Last) }()
		go func() { results <- b.WaitDurable(context.Background(), a.Last+1) }()
		synctest.Wait()
		if err := b.Close(); err != nil { // it syncs, without a committer
			t.Fatal(err)
		}
		one, two := <-results, <-results
		if one != nil {
			one, two = two, one
		}
		if one != nil || !errors.Is(two, ErrClosed) {
			t.Error(one, two)
		}
		if _, err := b.Append(timedBatch(t, 1, 1, 1)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := b.Read(0, 1); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := errors.Join(b.Close(), b.Remove(), b.Trim(0), b.Roll()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
