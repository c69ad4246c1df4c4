package log

import "crypto/sha256"

const (
	// keyCost is what an entry of the key map takes, with its share of the free slots.
	keyCost = 64

	minKeys = 16 // however little memory there is: each pass gets on by so many records at least
)

// keyHash stands for a key. Nobody can make two keys with the same one: one would delete the other's records.
type keyHash [16]byte

func hashKey(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:])
}

// keyMap knows the newest offset of every key in a range of offsets, as far as its memory goes.
type keyMap struct {
	newest map[keyHash]int64
	limit  int
	end    int64 // the range ends here: what follows is not in the map
}

func newKeyMap(bytes int64) *keyMap {
	return &keyMap{newest: make(map[keyHash]int64), limit: int(max(bytes/keyCost, minKeys))}
}

// put takes note of a record. It is false when the map is full and the key is a new one.
func (m *keyMap) put(key keyHash, offset int64) bool {
	if len(m.newest) >= m.limit {
		if _, known := m.newest[key]; !known {
			return false
		}
	}
	m.newest[key] = offset
	return true
}

// superseded says that a newer record of the same key is in the range.
func (m *keyMap) superseded(r Record) bool {
	newest, ok := m.newest[hashKey(r.Key)]
	return ok && newest > r.Offset
}
