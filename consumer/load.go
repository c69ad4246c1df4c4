package consumer

import (
	"bytes"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// load reads all groups and offsets, and makes the buckets in a new file.
func (g *Groups) load(now time.Time) error {
	return g.db.Update(func(tx *bbolt.Tx) error {
		var buckets []*bbolt.Bucket
		for _, name := range [][]byte{groupsBucket, membersBucket, offsetsBucket} {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			buckets = append(buckets, b)
		}
		groups, members, offsets := buckets[0], buckets[1], buckets[2]
		if err := groups.ForEach(func(id, record []byte) error { g.loadGroup(string(id), record, now); return nil }); err != nil {
			return err
		}
		if err := g.loadMembers(members, now); err != nil {
			return err
		}
		return offsets.ForEach(func(key, value []byte) error { g.loadOffset(key, value); return nil })
	})
}

func (g *Groups) loadGroup(id string, record []byte, now time.Time) {
	var group machine
	var err error
	if len(record) > 0 && record[0] == consumerVersion {
		group, err = decodeConsumer(record, g.settings)
	} else {
		group, err = decodeClassic(record, g.settings, now)
	}
	if err != nil {
		g.log.Error().Err(err).Str("group", id).
			Msg("the members of a group could not be read and are left out; its offsets are kept; the members will join again")
		return
	}
	e := g.loaded(id)
	e.group = group
	g.alarms.set(e, group.deadline())
}

// loadMembers gives consumer groups their members. Records that are of no use are deleted: a later group of that name
// must not find them.
func (g *Groups) loadMembers(b *bbolt.Bucket, now time.Time) error {
	restorers := map[string]*restorer{}
	var useless [][]byte
	err := b.ForEach(func(key, record []byte) error {
		group, id, err := decodeMemberKey(key)
		if err == nil {
			err = g.loadMember(restorers, group, id, record, now)
		}
		if err != nil {
			useless = append(useless, bytes.Clone(key))
			g.log.Error().Err(err).Str("group", group).Str("member", id).
				Msg("a member of a group could not be read and is left out; all others are kept; it will join again")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, r := range restorers {
		g.alarms.set(g.loaded(id), r.deadline())
	}
	return deleteKeys(b, useless)
}

func (g *Groups) loadMember(restorers map[string]*restorer, group, id string, record []byte, now time.Time) error {
	r := restorers[group]
	if r == nil {
		e := g.entries[group]
		if e == nil || e.consumer() == nil {
			return fmt.Errorf("%w: no such consumer group", errRecord)
		}
		r = newRestorer(e.consumer())
		restorers[group] = r
	}
	m, err := decodeMember(id, record)
	if err == nil && !r.restore(m, now) {
		err = fmt.Errorf("%w: it contradicts another member", errRecord)
	}
	if err != nil {
		r.epoch++ // the others get new targets
	}
	return err
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
