package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the real file system. It needs Linux: fdatasync, fallocate and syncfs are what durability is built from.
type OS struct{}

var _ FS = OS{}

// Create implements FS.
func (OS) Create(name string) (File, error) { return openOS(name, os.O_RDWR|os.O_CREATE|os.O_EXCL) }

// Open implements FS.
func (OS) Open(name string) (File, error) { return openOS(name, os.O_RDWR) }

// OpenRead implements FS.
func (OS) OpenRead(name string) (File, error) { return openOS(name, os.O_RDONLY) }

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements FS.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// MkdirAll implements FS.
func (OS) MkdirAll(name string) error { return os.MkdirAll(name, 0o750) }

// List implements FS.
func (OS) List(dir string) ([]Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		info, err := n.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the directory was read
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Name: n.Name(), Size: info.Size(), ModTime: info.ModTime(), Dir: n.IsDir()})
	}
	return entries, nil
}

// SetModTime implements FS.
func (OS) SetModTime(name string, t time.Time) error { return os.Chtimes(name, time.Time{}, t) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	return withDir(dir, func(d *os.File) error { return d.Sync() })
}

// SyncFS implements FS. Linux before 5.8 does not report write errors through syncfs.
func (OS) SyncFS(dir string) error {
	return withDir(dir, func(d *os.File) error { return call(d, "syncfs", unix.Syncfs) })
}

func withDir(dir string, f func(*os.File) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f(d), d.Close())
}

// Lock implements FS by flock, which the kernel releases however the process ends. The file holds the owner's process
// id, for whoever wonders.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockFile(f *os.File) error {
	err := call(f, "flock", func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		return fmt.Errorf("%w: %s by process %s", ErrLocked, f.Name(), strings.TrimSpace(string(pid)))
	}
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}

// Free implements FS.
func (OS) Free(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	err = retry(func() error { return unix.Statfs(dir, &st) })
	if err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * st.Frsize, int64(st.Blocks) * st.Frsize, nil
}

// osFile is a file in the kernel. os.File itself loops over short and interrupted reads and writes.
type osFile struct{ *os.File }

var (
	_ File = osFile{}
	_ FD   = osFile{}
)

func (f osFile) Sync() error { return call(f.File, "fdatasync", unix.Fdatasync) }

func (f osFile) SyncFS() error { return call(f.File, "syncfs", unix.Syncfs) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// call runs a system call on f's descriptor, which cannot be closed and reused meanwhile, and repeats it when a signal
// interrupts it.
func call(f *os.File, op string, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) {
		callErr = retry(func() error { return do(int(fd)) })
	})
	if err != nil {
		callErr = fs.ErrClosed // all that Control can complain of
	}
	if callErr != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: callErr}
	}
	return nil
}

func retry(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
