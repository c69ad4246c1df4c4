// Package memfs is a file system in memory that can crash and fail, for tests.
//
// It keeps two states: what a reader sees, and what has reached the disk. File.Sync moves the contents of one file to
// the disk, SyncDir the names of one directory, SyncFS everything. Crash returns the disk as a power failure could have
// left it: what was synced is there exactly, and of the rest any part may be missing.
//
//	file contents   each unsynced write and truncation is kept, lost or (a write) torn, on its own: a torn write keeps
//	                some of its 512-byte sectors, the others read as what was there before, or zero
//	names           each unsynced creation, renaming and removal is kept or lost as a whole, and with a lost one all later
//	                ones of the same name; other names are independent of it
//
// A disk in use by the system is kinder than that. Kill returns what the death of the process alone leaves: everything
// written, nothing more synced than before.
package memfs

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"brokerd/log/vfs"
)

// ErrGone is returned by every call on a file system, and on its files, after Crash or Kill.
var ErrGone = errors.New("memfs: the file system has crashed")

// FS implements vfs.FS. Relative names count from the root, which always exists.
type FS struct {
	mu      sync.Mutex
	root    *node
	journal []change          // changes of names that are not on the disk for certain, oldest first
	locks   map[string]bool   // held by Lock
	open    map[*file]string  // open handles, with the names they were opened by
	counts  map[Kind]int      // operations so far
	fault   func(op Op) error // set by Fail
	limit   int64             // bytes of all files together; 0 = none
	rng     *rand.Rand        // decides what a failed Sync leaves
	gone    bool
}

var _ vfs.FS = (*FS)(nil)

// New makes an empty file system. Its behaviour is the same in each run.
func New() *FS { return newFS(newDir()) }

func newFS(root *node) *FS {
	return &FS{
		root:   root,
		locks:  map[string]bool{},
		open:   map[*file]string{},
		counts: map[Kind]int{},
		rng:    rand.New(rand.NewPCG(1, 2)),
	}
}

// OpenFiles lists the names of all files and locks that are open, sorted: a test asserts that it is empty.
func (m *FS) OpenFiles() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, name := range m.open {
		names = append(names, name)
	}
	for name := range m.locks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Create implements vfs.FS.
func (m *FS) Create(name string) (vfs.File, error) {
	return m.openFile(Create, name, true)
}

// Open implements vfs.FS.
func (m *FS) Open(name string) (vfs.File, error) { return m.openFile(Open, name, true) }

// OpenRead implements vfs.FS.
func (m *FS) OpenRead(name string) (vfs.File, error) { return m.openFile(Open, name, false) }

func (m *FS) openFile(k Kind, name string, write bool) (vfs.File, error) {
	var f *file
	err := m.do(k, name, func() error {
		n, err := m.lookupFile(name, k == Create)
		if err != nil {
			return err
		}
		f = &file{fs: m, node: n, name: name, write: write}
		m.open[f] = clean(name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// lookupFile finds a file, or makes a new one.
func (m *FS) lookupFile(name string, create bool) (*node, error) {
	dir, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	n := dir.entries[base]
	if !create {
		if n == nil {
			return nil, fs.ErrNotExist
		}
		if n.isDir() {
			return nil, syscall.EISDIR
		}
		return n, nil
	}
	if n != nil {
		return nil, fs.ErrExist
	}
	n = &node{modTime: time.Now()}
	m.apply(change{{dir, base, n}})
	return n, nil
}

// Rename implements vfs.FS.
func (m *FS) Rename(oldName, newName string) error {
	return m.do(Rename, oldName, func() error {
		oldDir, oldBase, err := m.parent(oldName)
		if err != nil {
			return err
		}
		newDir, newBase, err := m.parent(newName)
		if err != nil {
			return err
		}
		n, old := oldDir.entries[oldBase], newDir.entries[newBase]
		switch {
		case n == nil:
			return fs.ErrNotExist
		case n == old:
			return nil
		case old == nil:
		case old.isDir():
			return fs.ErrExist
		case n.isDir():
			return syscall.ENOTDIR
		}
		m.apply(change{{oldDir, oldBase, nil}, {newDir, newBase, n}})
		return nil
	})
}

// Remove implements vfs.FS.
func (m *FS) Remove(name string) error {
	return m.do(Remove, name, func() error {
		dir, base, err := m.parent(name)
		if err != nil {
			return err
		}
		n := dir.entries[base]
		if n == nil {
			return fs.ErrNotExist
		}
		if len(n.entries) > 0 {
			return syscall.ENOTEMPTY
		}
		m.apply(change{{dir, base, nil}})
		return nil
	})
}

// RemoveAll implements vfs.FS.
func (m *FS) RemoveAll(name string) error {
	return m.do(Remove, name, func() error {
		dir, base, err := m.parent(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if dir.entries[base] != nil {
			m.removeTree(dir, base)
		}
		return nil
	})
}

func (m *FS) removeTree(dir *node, base string) {
	n := dir.entries[base]
	for _, child := range n.names() {
		m.removeTree(n, child)
	}
	m.apply(change{{dir, base, nil}})
}

// MkdirAll implements vfs.FS.
func (m *FS) MkdirAll(name string) error {
	return m.do(Mkdir, name, func() error {
		dir := m.root
		for _, part := range split(name) {
			n := dir.entries[part]
			if n == nil {
				n = newDir()
				m.apply(change{{dir, part, n}})
			}
			if !n.isDir() {
				return syscall.ENOTDIR
			}
			dir = n
		}
		return nil
	})
}

// List implements vfs.FS.
func (m *FS) List(dir string) ([]vfs.Entry, error) {
	var entries []vfs.Entry
	err := m.do(List, dir, func() error {
		d, err := m.dir(dir)
		if err != nil {
			return err
		}
		for _, name := range d.names() {
			n := d.entries[name]
			entries = append(entries, vfs.Entry{Name: name, Size: int64(len(n.data)), ModTime: n.modTime, Dir: n.isDir()})
		}
		return nil
	})
	return entries, err
}

// SetModTime implements vfs.FS. A crash does not undo it.
func (m *FS) SetModTime(name string, t time.Time) error {
	return m.do(Stat, name, func() error {
		n, err := m.lookupFile(name, false)
		if err != nil {
			return err
		}
		n.modTime = t
		return nil
	})
}

// SyncDir implements vfs.FS.
func (m *FS) SyncDir(dir string) error {
	return m.do(SyncDir, dir, func() error {
		d, err := m.dir(dir)
		if err != nil {
			return err
		}
		m.commit(d)
		return nil
	})
}

// SyncFS implements vfs.FS.
func (m *FS) SyncFS(dir string) error {
	fault := m.begin(SyncFS, dir)
	return m.locked(SyncFS, dir, func() error {
		if _, err := m.dir(dir); err != nil {
			return err
		}
		for _, n := range m.nodes() {
			if fault != nil {
				n.failSync(m.rng)
			} else {
				n.sync()
			}
		}
		if fault == nil {
			m.commit(nil)
		}
		return fault
	})
}

// Lock implements vfs.FS. A lock is released by its Closer, by Crash and by Kill.
func (m *FS) Lock(name string) (io.Closer, error) {
	err := m.do(Lock, name, func() error {
		n, err := m.lookupFile(name, false)
		if errors.Is(err, fs.ErrNotExist) {
			n, err = m.lookupFile(name, true)
		}
		if err != nil {
			return err
		}
		if m.locks[clean(name)] {
			return vfs.ErrLocked
		}
		m.locks[clean(name)] = true
		n.truncate(0)
		n.write(0, []byte(strconv.Itoa(os.Getpid())+"\n"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &lock{m, clean(name)}, nil
}

type lock struct {
	fs   *FS
	name string
}

func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if !l.fs.locks[l.name] {
		return &fs.PathError{Op: "close", Path: l.name, Err: fs.ErrClosed}
	}
	delete(l.fs.locks, l.name)
	return nil
}

// Free implements vfs.FS. Without a Limit the disk has 1 TiB.
func (m *FS) Free(dir string) (free, total int64, err error) {
	err = m.do(Stat, dir, func() error {
		if _, err := m.dir(dir); err != nil {
			return err
		}
		total = m.limit
		if total == 0 {
			total = 1 << 40
		}
		free = max(total-m.used(), 0)
		return nil
	})
	return free, total, err
}

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// split returns the parts of a name; none for the root.
func split(name string) []string {
	name = clean(name)
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}
