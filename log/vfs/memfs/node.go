package memfs

import (
	"maps"
	"slices"
	"time"
)

// node is a file, or a directory when entries is not nil. The FS's mutex guards it.
type node struct {
	modTime time.Time

	data  []byte // what a reader sees
	disk  []byte // what is on the disk for certain
	dirty []edit // what turned disk into data, oldest first

	entries map[string]*node // what a reader sees
	stable  map[string]*node // what is on the disk for certain; FS.journal turns it into entries
}

// edit is one write, or one change of size.
type edit struct {
	off  int64
	data []byte
	size int64 // new size; -1 for a write
}

func newDir() *node {
	return &node{entries: map[string]*node{}, stable: map[string]*node{}, modTime: time.Now()}
}

func (n *node) isDir() bool { return n.entries != nil }

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.entries)) }

func (n *node) write(off int64, b []byte) {
	n.edit(edit{off: off, data: slices.Clone(b), size: -1})
}

func (n *node) truncate(size int64) { n.edit(edit{size: size}) }

func (n *node) edit(e edit) {
	n.data = e.apply(n.data)
	n.dirty = append(n.dirty, e)
	n.modTime = time.Now()
}

// sync puts everything on the disk.
func (n *node) sync() {
	for _, e := range n.dirty {
		n.disk = e.apply(n.disk)
	}
	n.dirty = nil
}

func (e edit) apply(b []byte) []byte {
	if e.size >= 0 {
		return resize(b, e.size)
	}
	if end := e.off + int64(len(e.data)); end > int64(len(b)) && len(e.data) > 0 {
		b = resize(b, end)
	}
	copy(b[min(e.off, int64(len(b))):], e.data)
	return b
}

// resize cuts b or adds zeros.
func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	old := len(b)
	b = slices.Grow(b, int(size)-old)[:size]
	clear(b[old:])
	return b
}
