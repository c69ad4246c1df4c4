package durable

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// image is what changed of a consumer since it was last saved.
type image struct {
	position position
	replaced bool              // what is stored of pending messages is of another time
	entries  map[uint64]*saved // by sequence; nil for one that is done with
}

func (m *machine) position() position {
	return position{m.delivered, m.floor, m.resume, [2]int64{nanos(m.last.delivered), nanos(m.last.acked)}}
}

// image takes what is unsaved.
func (m *machine) image() image {
	i := image{m.position(), m.replaced, make(map[uint64]*saved, len(m.unsaved))}
	m.replaced = false
	for sequence := range m.unsaved {
		i.entries[sequence] = m.entryImage(sequence)
	}
	clear(m.unsaved)
	return i
}

func (m *machine) entryImage(sequence uint64) *saved {
	if e := m.pending.get(sequence); e != nil {
		e.stored = true
		return &saved{e.consumer, e.deliveries, nanos(e.due)}
	}
	if m.givenUp[sequence] {
		return &saved{due: dueNever}
	}
	return nil
}

// putBack makes what an image took unsaved again.
func (m *machine) putBack(i image) {
	m.replaced = m.replaced || i.replaced
	for sequence := range i.entries {
		m.unsaved[sequence] = true
	}
}

// put writes an image.
func (i image) put(tx *bbolt.Tx, key []byte) error {
	if i.replaced {
		if err := deletePending(tx, key); err != nil {
			return err
		}
	}
	b := tx.Bucket(pendingBucket)
	for sequence, s := range i.entries {
		var err error
		if s == nil {
			err = b.Delete(pendingKey(key, sequence))
		} else {
			err = b.Put(pendingKey(key, sequence), s.encode())
		}
		if err != nil {
			return err
		}
	}
	return tx.Bucket(positionsBucket).Put(key, i.position.encode())
}

// restore continues where the position was saved. The entries follow, in rising order, by restoreEntry.
func (m *machine) restore(p position) {
	m.delivered, m.floor, m.resume = p.delivered, p.floor, p.resume
	m.next = m.delivered.stream + 1
	m.last.delivered, m.last.acked = fromNanos(p.last[0]), fromNanos(p.last[1])
}

func (m *machine) restoreEntry(sequence uint64, s saved) {
	if s.due == dueNever {
		m.givenUp[sequence] = true
		return
	}
	e := &entry{place: place{s.consumer, sequence}, deliveries: s.deliveries, stored: true}
	m.pending.add(e)
	if s.due == 0 {
		m.pending.enqueue(e)
		return
	}
	m.pending.schedule(e, fromNanos(s.due))
}

func deletePending(tx *bbolt.Tx, key []byte) error {
	b := tx.Bucket(pendingBucket)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(key); bytes.HasPrefix(k, key); k, _ = c.Next() {
		if len(k) == len(key)+8 {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
