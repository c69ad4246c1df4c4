package broker

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// Identity is what clients know this broker by. It is made once and kept in the metadata.
type Identity struct {
	ClusterID string // 22 characters: 16 random bytes in URL-safe base 64, as Kafka's own tools write it
	NodeID    int32
}

// firstNodeID is the node id of a new data directory. Kafka's node ids start at 0 as well; 1 keeps an unset field apart.
const firstNodeID = 1

// loadIdentity reads the identity, or makes it in a new data directory.
func loadIdentity(db *bbolt.DB) (Identity, error) {
	var id Identity
	err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("identity"))
		if err != nil {
			return err
		}
		if cluster, node := b.Get([]byte("cluster")), b.Get([]byte("node")); cluster != nil {
			if len(node) != 4 {
				return errors.New("the node id is damaged")
			}
			id = Identity{ClusterID: string(cluster), NodeID: int32(binary.BigEndian.Uint32(node))}
			return nil
		}
		id = Identity{ClusterID: newClusterID(), NodeID: firstNodeID}
		if err := b.Put([]byte("node"), binary.BigEndian.AppendUint32(nil, uint32(id.NodeID))); err != nil {
			return err
		}
		return b.Put([]byte("cluster"), []byte(id.ClusterID))
	})
	if err != nil {
		return Identity{}, fmt.Errorf("load identity: %w", err)
	}
	return id, nil
}

func newClusterID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}
