package topic

import (
	"go.etcd.io/bbolt"
)

// Names reads the names of all topics from a metadata database, for tools that look into a data directory while no
// broker runs. A database without topics, and a record that cannot be read, give none.
func Names(db *bbolt.DB) (map[ID]string, error) {
	names := make(map[ID]string)
	empty := false
	err := db.View(func(tx *bbolt.Tx) error {
		empty = tx.Bucket([]byte(topicsBucket)) == nil
		return nil
	})
	if err != nil || empty {
		return names, err
	}
	err = store{db: db}.load(func(id ID, rec record, err error) {
		if err == nil {
			names[id] = rec.Name
		}
	})
	return names, err
}
