package consumer

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// image is what is to be stored of a group.
type image struct {
	group   []byte
	members map[string][]byte // of a consumer group, by member id; nil for one that is gone
}

// put writes an image. With all set, members of whom it knows nothing are deleted.
func (i image) put(tx *bbolt.Tx, group string, all bool) error {
	if all {
		if err := deletePrefix(tx.Bucket(membersBucket), groupPrefix(group)); err != nil {
			return err
		}
	}
	members := tx.Bucket(membersBucket)
	for id, record := range i.members {
		if record == nil {
			if err := members.Delete(memberKey(group, id)); err != nil {
				return err
			}
			continue
		}
		if err := members.Put(memberKey(group, id), record); err != nil {
			return err
		}
	}
	return tx.Bucket(groupsBucket).Put([]byte(group), i.group)
}

// deleteGroup deletes what is stored of a group and its offsets, also what was queued before.
func deleteGroup(tx *bbolt.Tx, id string) error {
	if err := tx.Bucket(groupsBucket).Delete([]byte(id)); err != nil {
		return err
	}
	for _, bucket := range [][]byte{membersBucket, offsetsBucket} {
		if err := deletePrefix(tx.Bucket(bucket), groupPrefix(id)); err != nil {
			return err
		}
	}
	return nil
}

func deletePrefix(b *bbolt.Bucket, prefix []byte) error {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return deleteKeys(b, keys)
}

func deleteKeys(b *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
