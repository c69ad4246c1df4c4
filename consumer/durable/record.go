package durable

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/topic"
)

// Three buckets of the metadata file hold all of this package's state. Numbers are big-endian; n= is an unsigned varint. A
// string is its length (n=) and then itself. Times are in nanoseconds since 1970, 0 for none.
//
//	"durables"   key    | stream | consumer |
//	             value  | 1 | id of the stream's topic 16 bytes | created int64 | configuration as JSON |
//
//	"positions"  key    | stream | consumer |
//	             value  | 1 | delivered: consumer, stream uint64 | ack floor: consumer, stream uint64 | resume uint64 |
//	                    | delivered int64 | acknowledged int64 |
//
//	"pending"    key    | stream | consumer | sequence uint64 |
//	             value  | 1 | consumer sequence uint64 | deliveries uint64 | due int64, 0 for now, -1 for given up |
//
// The first byte is the version of the format.
var (
	durablesBucket  = []byte("durables")
	positionsBucket = []byte("positions")
	pendingBucket   = []byte("pending")
)

const recordVersion = 1

// due of an entry that is not pending: it was given up.
const dueNever = -1

var errRecord = errors.New("durable: damaged or unknown record")

// identity is what is stored of a consumer when it is made, and when its configuration changes.
type identity struct {
	topic   topic.ID // so that another stream of the name has none of the consumers of this one
	created time.Time
	config  Config
}

// position is where a consumer stands.
type position struct {
	delivered, floor place
	resume           uint64
	last             [2]int64 // when it last delivered, and got an acknowledgement
}

// saved is the stored form of an entry.
type saved struct {
	consumer   uint64
	deliveries uint64
	due        int64
}

func (n names) key() []byte {
	b := binary.AppendUvarint(nil, uint64(len(n.stream)))
	b = append(b, n.stream...)
	b = binary.AppendUvarint(b, uint64(len(n.consumer)))
	return append(b, n.consumer...)
}

// decodeNames reads a key, and returns what follows the names.
func decodeNames(key []byte) (n names, rest []byte, err error) {
	for _, s := range []*string{&n.stream, &n.consumer} {
		size, used := binary.Uvarint(key)
		if used <= 0 || size > uint64(len(key)-used) {
			return n, nil, errRecord
		}
		*s = string(key[used : used+int(size)])
		key = key[used+int(size):]
	}
	return n, key, nil
}

func (i *identity) encode() ([]byte, error) {
	b := append([]byte{recordVersion}, i.topic[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(i.created.UnixNano()))
	config, err := json.Marshal(i.config)
	return append(b, config...), err
}

func decodeIdentity(b []byte) (identity, error) {
	var i identity
	const fixed = 1 + len(i.topic) + 8
	if len(b) < fixed || b[0] != recordVersion {
		return i, errRecord
	}
	copy(i.topic[:], b[1:])
	i.created = time.Unix(0, int64(binary.BigEndian.Uint64(b[fixed-8:]))).UTC()
	return i, json.Unmarshal(b[fixed:], &i.config)
}

func (p position) encode() []byte {
	return encodeNumbers(p.delivered.consumer, p.delivered.stream, p.floor.consumer, p.floor.stream, p.resume,
		uint64(p.last[0]), uint64(p.last[1]))
}

func decodePosition(b []byte) (position, error) {
	n, err := decodeNumbers(b, 7)
	if err != nil {
		return position{}, err
	}
	return position{place{n[0], n[1]}, place{n[2], n[3]}, n[4], [2]int64{int64(n[5]), int64(n[6])}}, nil
}

func (s saved) encode() []byte { return encodeNumbers(s.consumer, s.deliveries, uint64(s.due)) }

func decodeSaved(b []byte) (saved, error) {
	n, err := decodeNumbers(b, 3)
	if err != nil {
		return saved{}, err
	}
	return saved{n[0], n[1], int64(n[2])}, nil
}

func encodeNumbers(numbers ...uint64) []byte {
	b := []byte{recordVersion}
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodeNumbers(b []byte, count int) ([]uint64, error) {
	if len(b) != 1+8*count || b[0] != recordVersion {
		return nil, errRecord
	}
	numbers := make([]uint64, count)
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(b[1+8*i:])
	}
	return numbers, nil
}

func pendingKey(prefix []byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], sequence)
}

// nanos and fromNanos keep the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// deleteConsumer deletes what is stored of a consumer.
func deleteConsumer(tx *bbolt.Tx, key []byte) error {
	for _, name := range [][]byte{durablesBucket, positionsBucket} {
		if err := tx.Bucket(name).Delete(key); err != nil {
			return err
		}
	}
	return deletePending(tx, key)
}
