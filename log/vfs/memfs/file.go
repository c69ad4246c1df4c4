package memfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"brokerd/log/vfs"
)

// file is an open file. Everything it refers to is guarded by the FS's mutex.
type file struct {
	fs    *FS
	node  *node
	name  string
	write bool
}

var _ vfs.File = (*file)(nil)

// do asks for a fault, then runs the operation under the lock if the handle is open.
func (f *file) do(k Kind, body func() error) error {
	if err := f.fs.begin(k, f.name); err != nil {
		return &fs.PathError{Op: string(k), Path: f.name, Err: err}
	}
	return f.locked(k, body)
}

func (f *file) locked(k Kind, body func() error) error {
	return f.fs.locked(k, f.name, func() error {
		if _, open := f.fs.open[f]; !open {
			return fs.ErrClosed
		}
		if !f.write && (k == Write || k == Truncate) {
			return syscall.EBADF
		}
		return body()
	})
}

func (f *file) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.do(Read, func() error {
		if off < 0 {
			return syscall.EINVAL
		}
		n = copy(b, f.node.data[min(off, int64(len(f.node.data))):])
		return nil
	})
	if err == nil && n < len(b) {
		err = io.EOF // bare, as io.ReaderAt wants it
	}
	return n, err
}

func (f *file) WriteAt(b []byte, off int64) (n int, err error) {
	fault := f.fs.begin(Write, f.name)
	err = f.locked(Write, func() error {
		if off < 0 {
			return syscall.EINVAL
		}
		n = f.fs.room(f.node, off, len(b))
		if fault != nil {
			n = min(n, shortened(fault))
		}
		f.node.write(off, b[:n])
		if fault == nil && n < len(b) {
			return syscall.ENOSPC
		}
		return fault
	})
	return n, err
}

// shortened is how much of a failed write is done all the same.
func shortened(fault error) int {
	var short *ShortWrite
	if errors.As(fault, &short) {
		return short.N
	}
	return 0
}

func (f *file) Truncate(size int64) error {
	return f.do(Truncate, func() error {
		if size < 0 {
			return syscall.EINVAL
		}
		return f.setSize(size)
	})
}

func (f *file) setSize(size int64) error {
	old := int64(len(f.node.data))
	if grow := int(size - old); grow > 0 && f.fs.room(f.node, old, grow) < grow {
		return syscall.ENOSPC
	}
	f.node.truncate(size)
	return nil
}

func (f *file) Sync() error {
	fault := f.fs.begin(Sync, f.name)
	return f.locked(Sync, func() error {
		if fault != nil {
			f.node.failSync(f.fs.rng)
			return fault
		}
		f.node.sync()
		return nil
	})
}

func (f *file) SyncFS() error { return f.fs.SyncFS("") }

func (f *file) Size() (size int64, err error) {
	err = f.do(Stat, func() error {
		size = int64(len(f.node.data))
		return nil
	})
	return size, err
}

func (f *file) Close() error {
	fault := f.fs.begin(Close, f.name)
	return f.locked(Close, func() error {
		delete(f.fs.open, f)
		return fault
	})
}
