// Package ramfs is a file system in memory, for logs that need not outlive the process. It is bounded: above its limit it
// answers like a full disk. Syncs do nothing.
package ramfs

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"brokerd/log/vfs"
)

// FS implements vfs.FS.
type FS struct {
	limit int64
	used  atomic.Int64 // bytes of memory that files hold

	mu    sync.RWMutex
	root  *node            // guarded by mu, with every directory below it
	locks map[string]*lock // guarded by mu
}

// node is a file or a directory.
type node struct {
	entries map[string]*node // of a directory, else nil; guarded by FS.mu
	file    *contents        // of a file, else nil
	modTime time.Time        // of a directory; guarded by FS.mu
}

func newDir() *node { return &node{entries: make(map[string]*node), modTime: time.Now()} }

// New makes an empty file system whose files hold up to limit bytes.
func New(limit int64) *FS { return &FS{limit: limit, root: newDir(), locks: make(map[string]*lock)} }

// failed is the error of an operation, as the operating system words it.
func failed(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// split returns the parts of a name; none for the root.
func split(name string) []string {
	return strings.FieldsFunc(path.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// find returns what has a name.
func (f *FS) find(parts []string) (*node, error) {
	n := f.root
	for _, part := range parts {
		if n.entries == nil {
			return nil, syscall.ENOTDIR
		}
		if n = n.entries[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// dir is find for a directory.
func (f *FS) dir(parts []string) (*node, error) {
	n, err := f.find(parts)
	if err == nil && n.entries == nil {
		err = syscall.ENOTDIR
	}
	return n, err
}

// parent returns the directory of a name, and the name in it.
func (f *FS) parent(name string) (*node, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", syscall.EBUSY
	}
	last := len(parts) - 1
	n, err := f.dir(parts[:last])
	return n, parts[last], err
}

// put gives a name in a directory to n, or to nothing when that is nil.
func (d *node) put(name string, n *node) {
	d.modTime = time.Now()
	if n == nil {
		delete(d.entries, name)
		return
	}
	d.entries[name] = n
}

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, last, err := f.parent(name)
	if err == nil && d.entries[last] != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return nil, failed("create", name, err)
	}
	n := &node{file: &contents{fs: f, modTime: time.Now(), handles: 1, names: 1}}
	d.put(last, n)
	return &file{contents: n.file, name: name, writable: true}, nil
}

// Open implements vfs.FS.
func (f *FS) Open(name string) (vfs.File, error) { return f.open(name, true) }

// OpenRead implements vfs.FS.
func (f *FS) OpenRead(name string) (vfs.File, error) { return f.open(name, false) }

func (f *FS) open(name string, writable bool) (vfs.File, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.find(split(name))
	if err == nil && n.file == nil {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, failed("open", name, err)
	}
	n.file.hold()
	return &file{contents: n.file, name: name, writable: writable}, nil
}

// Rename implements vfs.FS.
func (f *FS) Rename(oldName, newName string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.rename(oldName, newName); err != nil {
		return failed("rename", oldName, err)
	}
	return nil
}

func (f *FS) rename(oldName, newName string) error {
	from, oldLast, err := f.parent(oldName)
	if err != nil {
		return err
	}
	n := from.entries[oldLast]
	if n == nil {
		return fs.ErrNotExist
	}
	to, newLast, err := f.parent(newName)
	if err != nil {
		return err
	}
	target := to.entries[newLast]
	switch {
	case target == n:
		return nil
	case n.entries != nil && strings.HasPrefix(path.Clean("/"+newName)+"/", path.Clean("/"+oldName)+"/"):
		return syscall.EINVAL
	case target != nil && n.entries != nil && target.entries == nil:
		return syscall.ENOTDIR
	case target != nil && target.entries != nil && (n.entries == nil || len(target.entries) > 0):
		return syscall.EEXIST
	}
	from.put(oldLast, nil)
	to.put(newLast, n)
	target.unlink()
	return nil
}

// unlink lets go of a file that has lost its name.
func (n *node) unlink() {
	if n != nil && n.file != nil {
		n.file.unlink()
	}
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, last, err := f.parent(name)
	if err != nil {
		return failed("remove", name, err)
	}
	switch n := d.entries[last]; {
	case n == nil:
		return failed("remove", name, fs.ErrNotExist)
	case len(n.entries) > 0:
		return failed("remove", name, syscall.ENOTEMPTY)
	default:
		d.put(last, nil)
		n.unlink()
	}
	return nil
}

// RemoveAll implements vfs.FS.
func (f *FS) RemoveAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, last, err := f.parent(name)
	if err != nil || d.entries[last] == nil {
		return nil
	}
	d.entries[last].unlinkAll()
	d.put(last, nil)
	return nil
}

func (n *node) unlinkAll() {
	n.unlink()
	for _, child := range n.entries {
		child.unlinkAll()
	}
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.root
	for _, part := range split(name) {
		next := d.entries[part]
		if next == nil {
			next = newDir()
			d.put(part, next)
		}
		if next.entries == nil {
			return failed("mkdir", name, syscall.ENOTDIR)
		}
		d = next
	}
	return nil
}

// List implements vfs.FS.
func (f *FS) List(dir string) ([]vfs.Entry, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	d, err := f.dir(split(dir))
	if err != nil {
		return nil, failed("list", dir, err)
	}
	list := make([]vfs.Entry, 0, len(d.entries))
	for name, n := range d.entries {
		e := vfs.Entry{Name: name, Dir: n.file == nil, ModTime: n.modTime}
		if n.file != nil {
			e.Size, e.ModTime = n.file.stat()
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b vfs.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// SetModTime implements vfs.FS.
func (f *FS) SetModTime(name string, t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(split(name))
	if err != nil {
		return failed("set the time of", name, err)
	}
	if n.file == nil {
		n.modTime = t
		return nil
	}
	n.file.setTime(t)
	return nil
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(dir string) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if _, err := f.dir(split(dir)); err != nil {
		return failed("sync", dir, err)
	}
	return nil
}

// SyncFS implements vfs.FS.
func (f *FS) SyncFS(dir string) error { return f.SyncDir(dir) }

// Free implements vfs.FS.
func (f *FS) Free(dir string) (free, total int64, err error) {
	return max(f.limit-f.used.Load(), 0), f.limit, f.SyncDir(dir)
}

// lock is held until it is closed.
type lock struct {
	fs   *FS
	name string
}

// Lock implements vfs.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, _, err := f.parent(name); err != nil {
		return nil, failed("lock", name, err)
	}
	clean := path.Clean("/" + name)
	if f.locks[clean] != nil {
		return nil, fmt.Errorf("lock %s: %w", name, vfs.ErrLocked)
	}
	l := &lock{f, clean}
	f.locks[clean] = l
	return l, nil
}

// Close implements io.Closer.
func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.fs.locks[l.name] != l {
		return fs.ErrClosed
	}
	delete(l.fs.locks, l.name)
	return nil
}
