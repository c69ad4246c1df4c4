package log

import (
	"context"
	"fmt"
	"testing"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

func benchLog(b *testing.B, fs vfs.FS, dir string, change ...func(*Options)) *Log {
	b.Helper()
	o := Options{FS: fs, Dir: dir, Committer: NewCommitter(CommitterOptions{}), Files: NewFiles(100), Config: DefaultConfig()}
	for _, c := range change {
		c(&o)
	}
	l, _, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- o.Committer.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-done
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	return l
}

// BenchmarkAppendDurable is one producer that waits for the disk after each batch.
func BenchmarkAppendDurable(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			l := benchLog(b, vfs.OS{}, b.TempDir()+"/log")
			batch := timedBatch(b, 1, 1, size-HeaderSize-20)
			b.SetBytes(int64(len(batch)))
			for b.Loop() {
				a, err := l.Append(batch)
				if err == nil {
					err = l.WaitDurable(context.Background(), a.Last)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendShared is many producers that share each sync.
func BenchmarkAppendShared(b *testing.B) {
	l := benchLog(b, vfs.OS{}, b.TempDir()+"/log")
	size := len(timedBatch(b, 1, 1, 1000))
	b.SetBytes(int64(size))
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		batch := timedBatch(b, 1, 1, 1000)
		for pb.Next() {
			a, err := l.Append(batch)
			if err == nil {
				err = l.WaitDurable(context.Background(), a.Last)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkAppend is the cost of the write path without any disk.
func BenchmarkAppend(b *testing.B) {
	fs := memfs.New()
	l := benchLog(b, nullFS{fs}, "log")
	batch := timedBatch(b, 10, 1, 100)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
}

// nullFS drops the bytes of segments.
type nullFS struct{ *memfs.FS }

func (n nullFS) Create(name string) (vfs.File, error) {
	file, err := n.FS.Create(name)
	return nullFile{file}, err
}

func (n nullFS) Open(name string) (vfs.File, error) {
	file, err := n.FS.Open(name)
	return nullFile{file}, err
}

type nullFile struct{ vfs.File }

func (nullFile) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (nullFile) Truncate(int64) error                   { return nil }

// BenchmarkRead reads 64 MiB of small batches again and again, in ranges of this size: what a consumer costs besides
// the copy itself.
func BenchmarkRead(b *testing.B) {
	l := benchLog(b, vfs.OS{}, b.TempDir()+"/log", func(o *Options) { o.Config.SegmentBytes = 16 << 20 })
	batch := timedBatch(b, 10, 1, 100)
	for l.Size() < 64<<20 {
		if _, err := l.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.WaitDurable(context.Background(), l.Bounds().End-1); err != nil {
		b.Fatal(err)
	}
	for _, max := range []int64{1, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", max>>10), func(b *testing.B) {
			b.ReportAllocs()
			var read int64
			offset := int64(0)
			for b.Loop() {
				r, err := l.Read(offset, max)
				if err != nil {
					b.Fatal(err)
				}
				read += r.Length
				if offset = r.Next; offset == l.Bounds().End {
					offset = 0
				}
				r.Close()
			}
			b.SetBytes(read / int64(b.N))
		})
	}
}

// BenchmarkOpen scans a tail of 64 MiB, as the start after a crash does.
func BenchmarkOpen(b *testing.B) {
	o := Options{FS: vfs.OS{}, Dir: b.TempDir() + "/log", Committer: NewCommitter(CommitterOptions{}), Files: NewFiles(100), Config: DefaultConfig()}
	l, _, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	batch := timedBatch(b, 10, 1, 100)
	for l.Size() < 64<<20 {
		if _, err := l.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(l.Size())
	for b.Loop() {
		l.forgetFiles()
		if l, _, err = Open(o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadSmallBatches reads a log of batches of one small record: in large pieces, as a consumer that lags does, and
// one by one, as one that keeps up does; with and without erased records among them.
func BenchmarkReadSmallBatches(b *testing.B) {
	const batches = 50_000
	for _, erased := range []bool{false, true} {
		l := benchLog(b, vfs.OS{}, b.TempDir()+"/log")
		batch := timedBatch(b, 1, 1, 100)
		var offsets []int64
		for i := range int64(batches) {
			if _, err := l.Append(batch); err != nil {
				b.Fatal(err)
			}
			if erased && i%3 == 0 {
				offsets = append(offsets, i)
			}
		}
		if err := l.WaitDurable(context.Background(), batches-1); err != nil {
			b.Fatal(err)
		}
		if err := l.Erase(offsets, true); err != nil {
			b.Fatal(err)
		}
		for _, size := range []int64{1, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("erased %v/%d", erased, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(batch)))
				var buf []byte
				offset := int64(0)
				for n := int64(0); b.Loop(); n++ { // for each batch
					if n < offset {
						continue
					}
					if offset >= batches-2 {
						n, offset = 0, 0
					}
					r, err := l.Read(offset, size)
					if err == nil {
						buf, err = r.ReadAll(buf)
					}
					if err != nil {
						b.Fatal(err)
					}
					offset = r.Next
					r.Close()
				}
			})
		}
	}
}
