package topic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// Layout of the metadata database, as far as topics go. Every change is one transaction, and on disk when it returns.
//
//	bucket      key        value
//	meta        "format"   version of the whole database, in decimal digits
//	topics      topic id   record, in JSON
//	doomed      topic id   name: its directory belongs to no topic, it is to be removed
//
// A topic that is being made is doomed until it is complete, and one that is deleted becomes doomed: whatever moment
// the process ends at, a directory is removed at the next start only if this database names it.
const (
	metaBucket   = "meta"
	topicsBucket = "topics"
	doomedBucket = "doomed"

	formatKey = "format"
	format    = 1
)

// record is what is stored of a topic.
type record struct {
	Name       string    `json:"name"`
	Partitions int32     `json:"partitions"`
	Settings   overrides `json:"settings,omitempty"`
	Created    time.Time `json:"created"`
	Stream     []byte    `json:"stream,omitempty"` // topic/stream's own, in base64
}

// store keeps the topics in the metadata database.
type store struct {
	db *bbolt.DB
}

// openStore makes the buckets, or refuses a database of a newer format: ErrNewerFormat.
func openStore(db *bbolt.DB) (store, error) {
	err := db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{metaBucket, topicsBucket, doomedBucket} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return fmt.Errorf("topic: make bucket %s: %w", name, err)
			}
		}
		meta := tx.Bucket([]byte(metaBucket))
		v := meta.Get([]byte(formatKey))
		if v == nil {
			return meta.Put([]byte(formatKey), strconv.AppendInt(nil, format, 10))
		}
		n, err := strconv.Atoi(string(v))
		if err != nil || n < 1 {
			return fmt.Errorf("topic: the metadata's format %q is no version: the file is damaged, restore it from a copy", v)
		}
		if n > format {
			return fmt.Errorf("%w: its format is %d, this release knows up to %d; start the newer release, nothing was changed", ErrNewerFormat, n, format)
		}
		return nil
	})
	return store{db: db}, err
}

// load calls f for every stored topic; err says that a record cannot be read.
func (s store) load(f func(id ID, rec record, err error)) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(topicsBucket)).ForEach(func(k, v []byte) error {
			var rec record
			id, err := idOf(k)
			if err == nil {
				err = json.Unmarshal(v, &rec)
			}
			f(id, rec, err)
			return nil
		})
	})
}

// doomed lists the ids whose directories are to be removed.
func (s store) doomed() (ids []ID, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(doomedBucket)).ForEach(func(k, _ []byte) error {
			id, err := idOf(k)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}

// doom marks the directory of a topic that is about to be made.
func (s store) doom(id ID, name string) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(doomedBucket)).Put(id[:], []byte(name))
	})
}

// put stores a topic; from here on it exists.
func (s store) put(id ID, rec record) error {
	v, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket([]byte(doomedBucket)).Delete(id[:]); err != nil {
			return err
		}
		return tx.Bucket([]byte(topicsBucket)).Put(id[:], v)
	})
}

// remove deletes a topic and dooms its directory.
func (s store) remove(id ID, name string) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket([]byte(topicsBucket)).Delete(id[:]); err != nil {
			return err
		}
		return tx.Bucket([]byte(doomedBucket)).Put(id[:], []byte(name))
	})
}

// forget says that a doomed directory is gone.
func (s store) forget(id ID) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(doomedBucket)).Delete(id[:])
	})
}

// idOf reads a key of the buckets.
func idOf(k []byte) (ID, error) {
	if len(k) != len(ID{}) {
		return ID{}, fmt.Errorf("topic: %x is no topic id", k)
	}
	return ID(k), nil
}
