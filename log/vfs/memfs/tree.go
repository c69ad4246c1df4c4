package memfs

import (
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"
)

// change is one atomic change of names.
type change []entry

// entry says what a name means from now on: a node, or nothing when that is nil.
type entry struct {
	dir  *node
	name string
	node *node
}

// place is a name in a directory.
type place struct {
	dir  *node
	name string
}

func (e entry) place() place { return place{e.dir, e.name} }

func (e entry) set(entries map[string]*node) {
	if e.node == nil {
		delete(entries, e.name)
		return
	}
	entries[e.name] = e.node
}

// apply makes a change visible and notes that it is not on the disk yet.
func (m *FS) apply(c change) {
	now := time.Now()
	for _, e := range c {
		e.set(e.dir.entries)
		e.dir.modTime = now
	}
	m.journal = append(m.journal, c)
}

// commit puts on the disk every change in dir (nil: in all directories), and with each the earlier ones of its names.
func (m *FS) commit(dir *node) {
	wanted := map[place]bool{}
	synced := make([]bool, len(m.journal))
	for i, c := range slices.Backward(m.journal) {
		synced[i] = slices.ContainsFunc(c, func(e entry) bool {
			return dir == nil || e.dir == dir || wanted[e.place()]
		})
		for _, e := range c {
			wanted[e.place()] = wanted[e.place()] || synced[i]
		}
	}
	var rest []change
	for i, c := range m.journal {
		if synced[i] {
			c.settle()
		} else {
			rest = append(rest, c)
		}
	}
	m.journal = rest
}

// settle puts a change on the disk.
func (c change) settle() {
	for _, e := range c {
		e.set(e.dir.stable)
	}
}

// parent returns the directory that holds name, and name's last part.
func (m *FS) parent(name string) (*node, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", syscall.EBUSY // the root has no parent
	}
	last := len(parts) - 1
	d, err := m.walk(parts[:last])
	return d, parts[last], err
}

func (m *FS) dir(name string) (*node, error) { return m.walk(split(name)) }

func (m *FS) walk(parts []string) (*node, error) {
	d := m.root
	for _, part := range parts {
		d = d.entries[part]
		if d == nil {
			return nil, fs.ErrNotExist
		}
		if !d.isDir() {
			return nil, syscall.ENOTDIR
		}
	}
	return d, nil
}

// nodes lists every file and directory that has a name, visible or on the disk, in an order that is
// the same in each run.
func (m *FS) nodes() []*node {
	seen := map[*node]bool{}
	var list []*node
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		list = append(list, n)
		for _, name := range n.names() {
			visit(n.entries[name])
		}
		for _, name := range slices.Sorted(maps.Keys(n.stable)) {
			visit(n.stable[name])
		}
	}
	visit(m.root)
	for _, c := range m.journal {
		for _, e := range c {
			visit(e.dir)
			visit(e.node)
		}
	}
	return list
}

// used is the size of all files that have a visible name or are open.
func (m *FS) used() int64 {
	seen := map[*node]bool{}
	var total int64
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		total += int64(len(n.data))
		for _, child := range n.entries {
			visit(child)
		}
	}
	visit(m.root)
	for f := range m.open {
		visit(f.node)
	}
	return total
}
