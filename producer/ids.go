package producer

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/semaphore"
)

const (
	idBucket = "producer"
	idKey    = "reserved" // the first id that no block holds yet: 8 bytes, big endian
	idBlock  = 1000
)

// IDs gives out producer ids, never the same twice, also after a crash: blocks of a thousand are reserved durably
// before the first of them is used.
type IDs struct {
	db *bbolt.DB

	// turn is held by the caller that takes the next id. It may last as long as the commit of a new block; that is why
	// it is a semaphore, whose waiters can give up, and not a mutex.
	turn *semaphore.Weighted
	next int64 // guarded by turn: the next id to give out
	end  int64 // guarded by turn: the first id behind the reserved block
}

// OpenIDs continues behind the last reserved block in db.
func OpenIDs(db *bbolt.DB) (*IDs, error) {
	i := &IDs{db: db, turn: semaphore.NewWeighted(1)}
	err := db.View(func(tx *bbolt.Tx) error {
		var err error
		i.next, err = reserved(tx.Bucket([]byte(idBucket)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("producer: read the reserved ids: %w", err)
	}
	i.end = i.next
	return i, nil
}

// Next returns a new producer id. Errors: ctx's, and the database's when a new block cannot be reserved.
func (i *IDs) Next(ctx context.Context) (int64, error) {
	if err := i.turn.Acquire(ctx, 1); err != nil {
		return 0, fmt.Errorf("producer: wait for an id: %w", err)
	}
	defer i.turn.Release(1)
	if i.next == i.end {
		if err := i.reserve(); err != nil {
			return 0, fmt.Errorf("producer: reserve ids: %w", err)
		}
	}
	id := i.next
	i.next++
	return id, nil
}

// reserve makes the next block ours. The stored value is read again: another IDs on the same database may have moved it.
func (i *IDs) reserve() error {
	var first int64
	err := i.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(idBucket))
		if err != nil {
			return err
		}
		if first, err = reserved(b); err != nil {
			return err
		}
		if first > math.MaxInt64-idBlock {
			return fmt.Errorf("all ids are used up at %d", first)
		}
		return b.Put([]byte(idKey), binary.BigEndian.AppendUint64(nil, uint64(first+idBlock)))
	})
	if err != nil {
		return err
	}
	i.next, i.end = first, first+idBlock
	return nil
}

// reserved reads the first id that is in no block; b may be nil.
func reserved(b *bbolt.Bucket) (int64, error) {
	if b == nil {
		return 0, nil
	}
	v := b.Get([]byte(idKey))
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 || v[0]&0x80 != 0 {
		return 0, fmt.Errorf("bucket %s, key %s: %x is no id", idBucket, idKey, v)
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}
