package ramfs

import (
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunkSize is the unit of memory of large files; the last chunk of a file is as large as need be.
const chunkSize = 64 << 10

// contents is what is in a file. Its memory is given back when it has neither a name nor an open handle.
type contents struct {
	fs *FS

	mu      sync.RWMutex
	chunks  [][]byte  // guarded by mu; all but the last one are chunkSize long
	size    int64     // guarded by mu
	modTime time.Time // guarded by mu
	handles int       // guarded by mu
	names   int       // guarded by mu
}

func (c *contents) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles++
}

func (c *contents) unlink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names--
	c.freeLocked()
}

func (c *contents) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles--
	c.freeLocked()
}

func (c *contents) freeLocked() {
	if c.names == 0 && c.handles == 0 {
		c.cutLocked(0)
	}
}

func (c *contents) stat() (size int64, modTime time.Time) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.size, c.modTime
}

func (c *contents) setTime(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modTime = t
}

func (c *contents) readAt(b []byte, at int64) (n int, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for n < len(b) && at < c.size {
		got := copy(b[n:], c.chunks[at/chunkSize][at%chunkSize:])
		n, at = n+got, at+int64(got)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (c *contents) writeAt(b []byte, at int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := at + int64(len(b)); end > c.size {
		if err := c.growLocked(end); err != nil {
			return 0, err
		}
	}
	for n < len(b) {
		put := copy(c.chunks[at/chunkSize][at%chunkSize:], b[n:])
		n, at = n+put, at+int64(put)
	}
	c.modTime = time.Now()
	return n, nil
}

func (c *contents) truncate(size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modTime = time.Now()
	if size > c.size {
		return c.growLocked(size)
	}
	c.cutLocked(size)
	return nil
}

// growLocked adds zeros up to size: ENOSPC when the file system's limit is reached.
func (c *contents) growLocked(size int64) error {
	if more := size - c.size; c.fs.used.Add(more) > c.fs.limit {
		c.fs.used.Add(-more)
		return syscall.ENOSPC
	}
	for c.size < size {
		i := int(c.size / chunkSize)
		if i == len(c.chunks) {
			c.chunks = append(c.chunks, nil)
		}
		old := len(c.chunks[i])
		n := int(min(size-int64(i)*chunkSize, chunkSize))
		c.chunks[i] = slices.Grow(c.chunks[i], n-old)[:n]
		clear(c.chunks[i][old:])
		c.size = int64(i)*chunkSize + int64(n)
	}
	return nil
}

func (c *contents) cutLocked(size int64) {
	c.fs.used.Add(size - c.size)
	c.size = size
	whole := int((size + chunkSize - 1) / chunkSize)
	clear(c.chunks[whole:])
	c.chunks = c.chunks[:whole]
	if rest := size % chunkSize; rest > 0 {
		c.chunks[whole-1] = c.chunks[whole-1][:rest]
	}
}

// file is an open file.
type file struct {
	*contents
	name     string
	writable bool
	closed   atomic.Bool
}

// use says why the file cannot be used at position at.
func (f *file) use(op string, at int64, write bool) error {
	switch {
	case f.closed.Load():
		return failed(op, f.name, fs.ErrClosed)
	case at < 0:
		return failed(op, f.name, syscall.EINVAL)
	case write && !f.writable:
		return failed(op, f.name, syscall.EBADF)
	}
	return nil
}

// ReadAt implements vfs.File.
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if err := f.use("read", at, false); err != nil {
		return 0, err
	}
	return f.readAt(b, at)
}

// WriteAt implements vfs.File.
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if err := f.use("write", at, true); err != nil {
		return 0, err
	}
	n, err := f.writeAt(b, at)
	if err != nil {
		return n, failed("write", f.name, err)
	}
	return n, nil
}

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	if err := f.use("truncate", size, true); err != nil {
		return err
	}
	if err := f.truncate(size); err != nil {
		return failed("truncate", f.name, err)
	}
	return nil
}

// Sync implements vfs.File.
func (f *file) Sync() error { return f.use("sync", 0, false) }

// SyncFS implements vfs.File.
func (f *file) SyncFS() error { return f.use("sync", 0, false) }

// Size implements vfs.File.
func (f *file) Size() (int64, error) {
	if err := f.use("stat", 0, false); err != nil {
		return 0, err
	}
	size, _ := f.stat()
	return size, nil
}

// Close implements vfs.File.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return failed("close", f.name, fs.ErrClosed)
	}
	f.letGo()
	return nil
}
