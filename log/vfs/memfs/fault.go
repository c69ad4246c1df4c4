package memfs

import (
	"fmt"
	"io/fs"
	"path"
	"sync/atomic"
)

// Kind is a sort of operation.
type Kind string

// The kinds of operation. OpenRead counts as Open, RemoveAll as one Remove; Stat is File.Size, FS.Free and FS.SetModTime.
const (
	Create   Kind = "create"
	Open     Kind = "open"
	Read     Kind = "read"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	Stat     Kind = "stat"
	Close    Kind = "close"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	Mkdir    Kind = "mkdir"
	List     Kind = "list"
	SyncDir  Kind = "syncdir"
	SyncFS   Kind = "syncfs"
	Lock     Kind = "lock"
)

// Op is one operation that is about to happen.
type Op struct {
	Kind  Kind
	Name  string // the file was opened by this name; the old one of a Rename
	Count int    // this is the nth operation of its kind on the file system, from 1
}

// ShortWrite is a fault for Write: the first N bytes are written all the same.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return fmt.Sprintf("short write of %d bytes: %v", e.N, e.Err) }

// Unwrap makes errors.Is see the cause.
func (e *ShortWrite) Unwrap() error { return e.Err }

// Fail has f asked before each operation; an error from it is the operation's result, and the operation has no effect,
// except that a Write may be short (ShortWrite), that a failed Sync or SyncFS leaves on the disk any part of what was
// unsynced and forgets that the rest is (as Linux does), and that a Close closes. f runs in the goroutine of the caller
// without any lock, so it may block to stall an operation; it may be called from several goroutines. Nil ends it.
func (m *FS) Fail(f func(op Op) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

// Nth is a rule for Fail: the nth operation (from 1) of kind k on a file whose last name matches the glob fails with
// err.
func Nth(k Kind, glob string, n int, err error) func(Op) error {
	var met atomic.Int64
	return func(op Op) error {
		if op.Kind == k && matches(glob, op.Name) && met.Add(1) == int64(n) {
			return err
		}
		return nil
	}
}

// From is a rule for Fail: as Nth, and all later ones fail too.
func From(k Kind, glob string, n int, err error) func(Op) error {
	var met atomic.Int64
	return func(op Op) error {
		if op.Kind == k && matches(glob, op.Name) && met.Add(1) >= int64(n) {
			return err
		}
		return nil
	}
}

func matches(glob, name string) bool {
	ok, err := path.Match(glob, path.Base(name))
	if err != nil {
		panic("memfs: bad glob " + glob) // a mistake in a test
	}
	return ok
}

// Limit bounds the bytes of all files together, 0 for no bound: a write beyond it is cut short with syscall.ENOSPC.
func (m *FS) Limit(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = bytes
}

// room says how many of n bytes at off may be written to f.
func (m *FS) room(f *node, off int64, n int) int {
	grow := off + int64(n) - int64(len(f.data))
	if m.limit == 0 || grow <= 0 {
		return n
	}
	over := grow - max(m.limit-m.used(), 0)
	return max(n-int(max(over, 0)), 0)
}

// do asks for a fault, then runs the operation under the lock.
func (m *FS) do(k Kind, name string, body func() error) error {
	if err := m.begin(k, name); err != nil {
		return &fs.PathError{Op: string(k), Path: name, Err: err}
	}
	return m.locked(k, name, body)
}

// begin counts an operation and asks for a fault.
func (m *FS) begin(k Kind, name string) error {
	m.mu.Lock()
	m.counts[k]++
	op, fault := Op{k, name, m.counts[k]}, m.fault
	m.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(op)
}

func (m *FS) locked(k Kind, name string, body func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := ErrGone
	if !m.gone {
		err = body()
	}
	if err != nil {
		return &fs.PathError{Op: string(k), Path: name, Err: err}
	}
	return nil
}
