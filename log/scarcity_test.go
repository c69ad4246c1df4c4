package log

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"brokerd/log/vfs/memfs"
)

// While no descriptor is to be had, appends and reads are refused or served, and what was appended is synced all the same:
// nothing fails for good.
func TestOutOfDescriptors(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("syncfs=", shared), func(t *testing.T) {
			fs := memfs.New()
			o := CommitterOptions{}
			if shared {
				o.SyncFSFrom = 1
			}
			b := openBench(t, fs, func(opt *Options) { opt.Committer, opt.Files = NewCommitter(o), NewFiles(1) })
			var scarce atomic.Bool
			fs.Fail(func(op memfs.Op) error {
				switch op.Kind {
				case memfs.Open, memfs.Create, memfs.SyncDir:
					if scarce.Load() {
						return syscall.EMFILE
					}
				}
				return nil
			})
			b.append(1, 0, 100)
			b.commit()

			for n := range 3 { // in each round a new segment: a new file, and a name to sync
				if err := b.Roll(); err != nil {
					t.Fatal(err)
				}
				last := b.append(1, int64(n), 1800).Last
				scarce.Store(true)
				b.commit()
				if got := b.Bounds().Durable; got != last+1 || b.Err() != nil {
					t.Fatalf("round %d: durable to %d, want %d; %v", n, got, last+1, b.Err())
				}
				if _, err := b.Append(timedBatch(t, 1, 0, 1800)); !errors.Is(err, ErrTooManyFiles) {
					t.Fatalf("round %d: the append that needs a new segment: %v", n, err)
				}
				scarce.Store(false)
				b.commit()
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
