package log

import (
	"container/list"
	"fmt"
	"sync"
	"sync/atomic"

	"brokerd/log/vfs"
)

// readBuffer is the size of the buffers that segments are scanned and checked through.
const readBuffer = 256 << 10

// Files is the bounded cache of open segments of all logs in a process, so that the number of open files does not grow
// with topics and segments. Files in use, and files with unsynced writes, are never closed by it: whoever uses a file,
// or has written to it and not synced it yet, holds a reference.
type Files struct {
	limit   int
	rebuilt atomic.Int64
	buffers sync.Pool

	mu   sync.Mutex
	open map[*segment]*openFile
	idle *list.List // of *openFile without references, the longest unused in front
}

// openFile is an open segment file and, once a reader needed it, its index. The index of a file is dropped with it.
type openFile struct {
	vfs.File
	segment *segment
	refs    int           // guarded by Files.mu
	idle    *list.Element // guarded by Files.mu; its place in Files.idle while refs is 0

	mu    sync.Mutex
	index *index // nil until loaded
}

// NewFiles makes a cache that keeps at most limit files open, apart from those in use or unsynced.
func NewFiles(limit int) *Files {
	return &Files{
		limit:   limit,
		buffers: sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }},
		open:    make(map[*segment]*openFile),
		idle:    list.New(),
	}
}

// Open is the number of files that are open now.
func (f *Files) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

// IndexesRebuilt counts the indexes of sealed segments that were missing or wrong and were made anew since the process
// started.
func (f *Files) IndexesRebuilt() int64 { return f.rebuilt.Load() }

// acquire returns the open file of a segment with a reference that the caller gives back with release.
func (f *Files) acquire(fs vfs.FS, s *segment) (*openFile, error) {
	if o := f.take(s, nil); o != nil {
		return o, nil
	}
	open := fs.Open
	if s.finished {
		open = fs.OpenRead
	}
	file, err := open(s.path)
	if outOfFiles(err) {
		return nil, fmt.Errorf("open segment: %w: %w", ErrTooManyFiles, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return f.take(s, file), nil
}

// take references the segment's open file. When there is none it becomes file, if given.
func (f *Files) take(s *segment, file vfs.File) *openFile {
	f.mu.Lock()
	o := f.open[s]
	if o == nil && file == nil {
		f.mu.Unlock()
		return nil
	}
	var spare vfs.File
	switch {
	case o == nil:
		o = &openFile{File: file, segment: s}
		f.open[s] = o
	case file != nil:
		spare = file // another goroutine opened it meanwhile
	}
	o.refs++
	if o.idle != nil {
		f.idle.Remove(o.idle)
		o.idle = nil
	}
	surplus := f.surplusLocked()
	f.mu.Unlock()
	closeAll(append(surplus, spare))
	return o
}

// release gives back a reference.
func (f *Files) release(o *openFile) {
	f.mu.Lock()
	o.refs--
	if o.refs < 0 {
		panic("log: file released twice")
	}
	var surplus []vfs.File
	if o.refs == 0 {
		if f.open[o.segment] == o {
			o.idle = f.idle.PushBack(o)
			surplus = f.surplusLocked()
		} else {
			surplus = []vfs.File{o.File} // forgotten while in use
		}
	}
	f.mu.Unlock()
	closeAll(surplus)
}

// forget drops a segment from the cache, for deletion or at the end of its log: its file is closed now, or by the last
// release.
func (f *Files) forget(s *segment) {
	f.mu.Lock()
	o := f.open[s]
	delete(f.open, s)
	var idle vfs.File
	if o != nil && o.idle != nil {
		f.idle.Remove(o.idle)
		o.idle = nil
		idle = o.File
	}
	f.mu.Unlock()
	closeAll([]vfs.File{idle})
}

// setIndex gives the open file of a segment its index, if it is open.
func (f *Files) setIndex(s *segment, x index) {
	if o := f.take(s, nil); o != nil {
		o.setIndex(x)
		f.release(o)
	}
}

func (o *openFile) setIndex(x index) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.index = &x
}

func (o *openFile) loadedIndex() (index, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.index == nil {
		return index{}, false
	}
	return *o.index, true
}

// surplusLocked takes idle files out of the cache until it is within its limit, and returns them to be closed.
func (f *Files) surplusLocked() []vfs.File {
	var out []vfs.File
	for len(f.open) > f.limit && f.idle.Len() > 0 {
		o := f.idle.Remove(f.idle.Front()).(*openFile)
		o.idle = nil
		delete(f.open, o.segment)
		out = append(out, o.File)
	}
	return out
}

// closeAll closes files that have nothing unsynced, so that an error of close says nothing about stored data.
func closeAll(files []vfs.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// buffer lends a read buffer; give it back with f.buffers.Put.
func (f *Files) buffer() *[]byte { return f.buffers.Get().(*[]byte) }
