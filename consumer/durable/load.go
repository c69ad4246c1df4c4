package durable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/topic/stream"
)

// load reads all consumers, makes the buckets in a new file, and deletes what is left of consumers whose stream is gone.
func (cs *Consumers) load(db *bbolt.DB) error {
	err := db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{durablesBucket, positionsBucket, pendingBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		var gone [][]byte
		err := tx.Bucket(durablesBucket).ForEach(func(key, value []byte) error {
			if !cs.loadConsumer(tx, key, value) {
				gone = append(gone, bytes.Clone(key))
			}
			return nil
		})
		for _, key := range gone {
			if err := deleteConsumer(tx, key); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("durable: load consumers: %w", err)
	}
	for name := range cs.byStream {
		if s, ok := cs.streams.Get(name); ok {
			cs.setInterest(s)
		}
	}
	return nil
}

// loadConsumer reads one consumer. False when it is of no use any more.
func (cs *Consumers) loadConsumer(tx *bbolt.Tx, key, value []byte) bool {
	n, _, err := decodeNames(key)
	if err != nil {
		cs.log.Error().Err(err).Hex("key", key).
			Msg("a consumer could not be read and is left out; all others are kept; make it again")
		return true
	}
	i, err := decodeIdentity(value)
	if err != nil {
		cs.log.Error().Err(err).Str("stream", n.stream).Str("consumer", n.consumer).
			Msg("a consumer could not be read and is left out; all others are kept; make it again")
		return true
	}
	s, ok := cs.streams.Get(n.stream)
	if !ok || topicID(s) != i.topic {
		cs.log.Info().Str("stream", n.stream).Str("consumer", n.consumer).
			Msg("a consumer is deleted, because its stream was")
		return false
	}
	c := cs.newConsumer(s, n, i)
	if err := c.loadState(tx, key, time.Now()); err != nil {
		cs.log.Error().Err(err).Str("stream", n.stream).Str("consumer", n.consumer).
			Msg("the position of a consumer could not be read; it delivers from its start again; reset it to move it")
	}
	cs.insert(c)
	cs.starting = append(cs.starting, c)
	return true
}

// insert is called with cs.mu held, or while nobody else is here.
func (cs *Consumers) insert(c *Consumer) {
	list := cs.byStream[c.names.stream]
	if list == nil {
		list = map[string]*Consumer{}
		cs.byStream[c.names.stream] = list
	}
	list[c.names.consumer] = c
}

// loadState reads where the consumer stood. Without that it begins anew, which may deliver something again, and skips
// nothing.
func (c *Consumer) loadState(tx *bbolt.Tx, key []byte, now time.Time) error {
	p, err := decodePosition(tx.Bucket(positionsBucket).Get(key))
	if err != nil {
		c.unplaced = true
		return err
	}
	c.machine.restore(p)
	c.savedPosition = p
	cursor := tx.Bucket(pendingBucket).Cursor()
	for k, v := cursor.Seek(key); bytes.HasPrefix(k, key); k, v = cursor.Next() {
		if len(k) != len(key)+8 {
			continue
		}
		s, err := decodeSaved(v)
		if err != nil {
			s = saved{consumer: p.delivered.consumer} // it is pending, that much is known: now it is due
		}
		sequence := binary.BigEndian.Uint64(k[len(key):])
		if sequence <= p.floor.stream && s.due != dueNever || sequence > p.delivered.stream {
			continue
		}
		c.machine.restoreEntry(sequence, s)
	}
	return nil
}

func topicID(s *stream.Stream) [16]byte {
	t, _ := s.Topic()
	return t.ID()
}
