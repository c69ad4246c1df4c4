package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// bench is one process with one log, for tests: its committer is run by hand.
type bench struct {
	t  *testing.T
	fs vfs.FS
	o  Options
	*Log
	Recovery
}

func smallConfig() Config {
	c := DefaultConfig()
	c.SegmentBytes, c.IndexInterval, c.SegmentAge, c.RetentionAge = 2000, 300, 0, -1
	return c
}

func openBench(t *testing.T, fs vfs.FS, change ...func(*Options)) *bench {
	t.Helper()
	o := Options{FS: fs, Dir: "t/p", Committer: NewCommitter(CommitterOptions{}), Files: NewFiles(100), Config: smallConfig()}
	for _, c := range change {
		c(&o)
	}
	parent := path.Dir(o.Dir)
	if err := errors.Join(fs.MkdirAll(parent), fs.SyncDir(path.Dir(parent))); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, fs: fs, o: o}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.Log, b.Recovery, err = Open(b.o); err != nil {
		b.t.Fatal("open:", err)
	}
}

// reopen starts another process on fs.
func (b *bench) reopen(fs vfs.FS) {
	b.t.Helper()
	b.fs, b.o.FS = fs, fs
	b.o.Committer, b.o.Files = NewCommitter(CommitterOptions{}), NewFiles(100)
	b.open()
}

// commit does what the committer's workers do.
func (b *bench) commit() { b.o.Committer.drain() }

func (c *Committer) drain() {
	c.queueAsync()
	for logs := c.take(); len(logs) > 0; logs = c.take() {
		c.commit(logs)
	}
}

// timedBatch makes a batch of n records, the first with this time, each a millisecond later.
func timedBatch(t testing.TB, n int, ms int64, size int) Batch {
	t.Helper()
	var bld Builder
	for i := range n {
		bld.Add(Record{Timestamp: ms + int64(i), Value: bytes.Repeat([]byte{byte('a' + i%26)}, size)})
	}
	b, err := bld.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) append(n int, ms int64, size int) Appended {
	b.t.Helper()
	a, err := b.Append(timedBatch(b.t, n, ms, size))
	if err != nil {
		b.t.Fatal("append:", err)
	}
	return a
}

// fill appends batches of two records until the log has so many segments, and commits.
func (b *bench) fill(segments int) {
	b.t.Helper()
	for ms := int64(1000); len(b.segments) < segments || b.active().size < 1000; ms += 10 {
		b.append(2, ms, 50)
	}
	b.commit()
}

// readAll reads from offset to Durable and returns the base offsets of the batches.
func (b *bench) readAll(offset, max int64) (bases []int64) {
	b.t.Helper()
	for offset < b.Bounds().Durable {
		r, err := b.Read(offset, max)
		if err != nil {
			b.t.Fatalf("read %d: %v", offset, err)
		}
		raw, err := r.ReadAll(nil)
		r.Close()
		if err != nil {
			b.t.Fatal(err)
		}
		if r.Length == 0 {
			break
		}
		for len(raw) > 0 {
			var batch Batch
			if batch, raw, err = ParseBatch(raw); err != nil {
				b.t.Fatal(err)
			}
			if err := batch.CheckCRC(); err != nil {
				b.t.Fatal(err)
			}
			bases = append(bases, batch.BaseOffset())
			offset = batch.LastOffset() + 1
		}
		if offset != r.Next {
			b.t.Fatalf("range says next %d, its batches %d", r.Next, offset)
		}
	}
	return bases
}

func TestAppendCommitReadReopen(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.fill(5)
	want := b.readAll(0, 1)
	for _, max := range []int64{1, 200, 500, 5000, 1 << 40} {
		if got := b.readAll(0, max); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("read with max %d: %v, want %v", max, got, want)
		}
	}
	end := b.Bounds().End
	for _, o := range want {
		r, err := b.Read(o+1, 1)
		if err != nil || r.Base != o || r.Next != o+2 {
			t.Errorf("read %d: %d to %d, %v", o+1, r.Base, r.Next, err)
		}
		r.Close()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if open := fs.OpenFiles(); len(open) > 0 {
		t.Error("open after close:", open)
	}
	b.reopen(fs)
	if !b.Clean || b.ScannedBytes != 0 || len(b.Orphans) > 0 || b.IndexesRebuilt > 0 {
		t.Errorf("after a clean stop: %+v", b.Recovery)
	}
	if got := b.readAll(0, 500); fmt.Sprint(got) != fmt.Sprint(want) || b.Bounds().End != end {
		t.Errorf("after reopen: %v to %d", got, b.Bounds().End)
	}
	b.append(2, 9000, 50)
	b.commit()
	b.reopen(fs.Kill())
	if b.Clean || b.CutBytes > 0 || b.SkippedOffsets > 0 || b.Bounds().End != end+2 {
		t.Errorf("after a kill: %+v %+v", b.Recovery, b.Bounds())
	}
	if got := b.readAll(0, 500); fmt.Sprint(got) != fmt.Sprint(append(want, end)) {
		t.Errorf("after kill: %v to %d", got, b.Bounds().End)
	}
	if n := b.o.Files.IndexesRebuilt(); n != 0 {
		t.Errorf("%d indexes rebuilt", n)
	}
}

func TestCommitterRun(t *testing.T) {
	b := openBench(t, vfs.OS{}, func(o *Options) { o.Dir = t.TempDir() + "/p" })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- b.o.Committer.Run(ctx) }()
	began := time.Now()
	for i := range 100 {
		a := b.append(2, int64(i), 100)
		if err := b.WaitDurable(ctx, a.Last); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(time.Since(began) / 100)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
