package memfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

const sectorSize = 512 // what a disk writes as a whole

// Crash returns the disk as a power failure could leave it, chosen by rng; with a nil rng everything unsynced is lost.
// The old file system and its files return ErrGone from now on. The same operations and the same rng give the same disk.
func (m *FS) Crash(rng *rand.Rand) *FS {
	c := m.Kill()
	c.loseNames(rng)
	for _, n := range c.nodes() {
		n.data = n.lose(rng)
		n.disk, n.dirty = slices.Clone(n.data), nil
	}
	return c
}

// Kill returns the file system as the next process finds it after this one was killed: all that was written is there,
// what was not synced is still not, locks and handles are gone. The old file system and its files return ErrGone from
// now on. The limit stays, the faults do not.
func (m *FS) Kill() *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
	clear(m.locks)
	clear(m.open)

	copies := map[*node]*node{nil: nil}
	for _, n := range m.nodes() {
		copies[n] = &node{
			modTime: n.modTime,
			data:    slices.Clone(n.data),
			disk:    slices.Clone(n.disk),
			dirty:   slices.Clone(n.dirty),
		}
	}
	for n, c := range copies {
		if n != nil && n.isDir() {
			c.entries, c.stable = mapped(n.entries, copies), mapped(n.stable, copies)
		}
	}
	next := newFS(copies[m.root])
	next.limit = m.limit
	for _, c := range m.journal {
		moved := slices.Clone(c)
		for i, e := range moved {
			moved[i] = entry{copies[e.dir], e.name, copies[e.node]}
		}
		next.journal = append(next.journal, moved)
	}
	return next
}

func mapped(entries map[string]*node, copies map[*node]*node) map[string]*node {
	c := make(map[string]*node, len(entries))
	for name, n := range entries {
		c[name] = copies[n]
	}
	return c
}

// loseNames keeps or drops each unsynced change of names. One that follows a lost one of the same name makes no sense
// without it and is lost too.
func (m *FS) loseNames(rng *rand.Rand) {
	lost := map[place]bool{}
	for _, c := range m.journal {
		keep := rng != nil && rng.IntN(2) == 0
		for _, e := range c {
			keep = keep && !lost[e.place()]
		}
		if keep {
			c.settle()
			continue
		}
		for _, e := range c {
			lost[e.place()] = true
		}
	}
	m.journal = nil
	for _, n := range m.nodes() {
		if n.isDir() {
			n.entries = maps.Clone(n.stable)
		}
	}
}

// failSync is what Linux makes of an error while it writes back: the unsynced pages are on the disk or not, and in any
// case no longer known to be unsynced.
func (n *node) failSync(rng *rand.Rand) {
	n.disk, n.dirty = n.lose(rng), nil
}

// lose returns what the disk may hold: each unsynced edit is there, torn, or absent.
func (n *node) lose(rng *rand.Rand) []byte {
	b := slices.Clone(n.disk)
	for _, e := range n.dirty {
		switch {
		case rng == nil:
		case e.size >= 0:
			if rng.IntN(2) == 0 {
				b = e.apply(b)
			}
		default:
			b = e.lose(b, rng)
		}
	}
	return b
}

func (e edit) lose(b []byte, rng *rand.Rand) []byte {
	switch rng.IntN(3) {
	case 0:
		return e.apply(b)
	case 1:
		return b
	}
	end := e.off + int64(len(e.data))
	if rng.IntN(2) == 0 && end > int64(len(b)) {
		b = resize(b, end) // the new size is there, the data not yet
	}
	for at := e.off; at < end; {
		next := min(at-at%sectorSize+sectorSize, end)
		if rng.IntN(2) == 0 {
			b = edit{off: at, data: e.data[at-e.off : next-e.off], size: -1}.apply(b)
		}
		at = next
	}
	return b
}
