package consumer

import (
	"bytes"
	"time"

	"go.etcd.io/bbolt"
)

// load reads all groups and offsets, and makes the buckets in a new file.
func (g *Groups) load(now time.Time) error {
	return g.store.db.Update(func(tx *bbolt.Tx) error {
		groups, err := tx.CreateBucketIfNotExists(groupsBucket)
		if err != nil {
			return err
		}
		offsets, err := tx.CreateBucketIfNotExists(offsetsBucket)
		if err != nil {
			return err
		}
		if err := groups.ForEach(func(id, record []byte) error { g.loadGroup(string(id), record, now); return nil }); err != nil {
			return err
		}
		return offsets.ForEach(func(key, value []byte) error { g.loadOffset(key, value); return nil })
	})
}

func (g *Groups) loadGroup(id string, record []byte, now time.Time) {
	machine, err := decodeGroup(record, g.settings, now)
	if err != nil {
		g.log.Error().Err(err).Str("group", id).
			Msg("the members of a group could not be read and are left out; its offsets are kept; the members will join again")
		return
	}
	e := g.loaded(id)
	e.group = machine
	g.alarms.set(e, machine.deadline())
}

func (g *Groups) loadOffset(key, value []byte) {
	group, topic, partition, err := decodeOffsetKey(key)
	var s stored
	if err == nil {
		s, err = decodeOffset(value)
	}
	if err != nil {
		g.log.Error().Err(err).Str("group", group).Str("topic", topic).Int32("partition", partition).
			Msg("a committed offset could not be read and is left out; all others are kept; reset the group's offset there")
		return
	}
	g.loaded(group).setOffset(topic, partition, s)
}

// loaded returns the entry of a group while nobody else is here.
func (g *Groups) loaded(id string) *entry {
	e, ok := g.entries[id]
	if !ok {
		e = newEntry(id, g.settings)
		g.entries[id] = e
	}
	return e
}

// deleteGroup deletes the record and the offsets of a group, also those that were queued before.
func deleteGroup(tx *bbolt.Tx, id string) error {
	if err := tx.Bucket(groupsBucket).Delete([]byte(id)); err != nil {
		return err
	}
	prefix := offsetPrefix(id)
	var keys [][]byte
	c := tx.Bucket(offsetsBucket).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return deleteOffsets(tx, keys)
}

func deleteOffsets(tx *bbolt.Tx, keys [][]byte) error {
	offsets := tx.Bucket(offsetsBucket)
	for _, k := range keys {
		if err := offsets.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
