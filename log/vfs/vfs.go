// Package vfs is the file system seam: the only way the broker reaches a disk.
//
// Everything above it sees the two small interfaces FS and File. OS is the real file system. Package ramfs is one in memory,
// for logs that need not outlive the process. Package memfs is OS's twin for tests, which can crash (drop what was not
// synced) and fail (return an error on the nth call), so that every crash the log claims to survive can be played.
package vfs

import (
	"errors"
	"io"
	"time"
)

// ErrLocked is returned by FS.Lock when another process holds the lock.
var ErrLocked = errors.New("vfs: locked by another process")

// Entry is one name in a directory.
type Entry struct {
	Name    string
	Size    int64
	ModTime time.Time
	Dir     bool
}

// FS is a file system. Names are slash-separated paths. Errors satisfy errors.Is with io/fs and syscall values
// (fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC, syscall.EIO).
type FS interface {
	// Create makes a new, empty file for reading and writing; fs.ErrExist when the name is taken. The name survives
	// a crash only after SyncDir of its directory.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	// Rename replaces newName by oldName atomically; durable after SyncDir.
	Rename(oldName, newName string) error
	// Remove deletes one file or empty directory; durable after SyncDir.
	Remove(name string) error
	// RemoveAll deletes a tree; no error when it does not exist.
	RemoveAll(name string) error
	// MkdirAll makes a directory and its parents; durable after SyncDir of each parent.
	MkdirAll(name string) error
	// List returns the entries of a directory, sorted by name.
	List(dir string) ([]Entry, error)
	// SetModTime sets Entry.ModTime of a file. A crash may undo it.
	SetModTime(name string, t time.Time) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// SyncFS makes everything written to the file system that holds dir durable (Linux syncfs). One call is cheaper
	// than many File.Sync calls when many files are dirty.
	SyncFS(dir string) error
	// Lock takes an exclusive lock held until the Closer is closed or the process ends; ErrLocked when taken.
	Lock(name string) (io.Closer, error)
	// Free reports the bytes available to us, and the size, of the file system that holds dir.
	Free(dir string) (free, total int64, err error)
}

// File is an open file. Its methods may be called from several goroutines.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate sets the size of the file.
	Truncate(size int64) error
	// Sync makes the contents durable (fdatasync). After an error the contents since the last good Sync are unknown
	// and must not be trusted by a later Sync.
	Sync() error
	// SyncFS is FS.SyncFS for the file system that holds the file. It needs no further descriptor.
	SyncFS() error
	// Size is the current size in bytes.
	Size() (int64, error)
}

// FD is implemented by files that live in the kernel, so that a front end can send them without copying.
// The descriptor is valid only while the File is open.
type FD interface {
	Fd() uintptr
}
