package durable

import (
	"context"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/consumer/store"
)

// saving is one save of a consumer's position and pending messages. It takes what is unsaved when its transaction comes,
// so that all that happens until then is saved at once.
type saving struct {
	consumer *Consumer
	taken    bool
	image    image
	answers  []func(error)
}

func (s *saving) put(tx *bbolt.Tx) error {
	c := s.consumer
	c.mu.Lock()
	s.taken = true
	s.answers, c.answers = c.answers, nil
	c.queued = false
	if c.gone {
		c.mu.Unlock()
		return nil
	}
	s.image = c.machine.image()
	c.mu.Unlock()
	return s.image.put(tx, c.key)
}

// saved is told of the fate of the transaction.
func (s *saving) saved(err error) {
	c := s.consumer
	c.mu.Lock()
	if !s.taken {
		s.answers, c.answers = c.answers, nil
		c.queued = false
	}
	if err == nil {
		c.savedPosition = s.image.position
	} else {
		c.machine.putBack(s.image)
		c.saveAt = time.Now().Add(time.Second)
		poke(c.wake)
	}
	c.mu.Unlock()
	for _, done := range s.answers {
		done(err)
	}
}

// unsaved says that there is something to save. It is called with c.mu held.
func (c *Consumer) unsaved() bool {
	return c.key != nil && !c.queued && (c.machine.replaced || len(c.machine.unsaved) > 0 || c.machine.position() != c.savedPosition)
}

// saveSoon sees to it that what is unsaved is saved before long. It is called with c.mu held.
func (c *Consumer) saveSoon(now time.Time) {
	if c.saveAt.IsZero() && c.unsaved() {
		c.saveAt = now.Add(saveWithin)
	}
	if !c.saveAt.IsZero() && !now.Before(c.saveAt) {
		c.save()
	}
}

// saveIdentity queues the record of the configuration, with that of the position if there is none yet. It is called with
// c.mu held. Nil if the consumer is not saved.
func (c *Consumer) saveIdentity() *store.Write {
	if c.key == nil {
		return nil
	}
	i := identity{topic: topicID(c.stream), created: c.created, config: c.machine.config}
	p := c.machine.position()
	return c.all.store.Add(func(tx *bbolt.Tx) error {
		value, err := i.encode()
		if err != nil {
			return err
		}
		if positions := tx.Bucket(positionsBucket); positions.Get(c.key) == nil {
			if err := positions.Put(c.key, p.encode()); err != nil {
				return err
			}
		}
		return tx.Bucket(durablesBucket).Put(c.key, value)
	}, nil)
}

// whenSaved saves now; what it returns waits until that is on disk. It is called with c.mu held.
func (c *Consumer) whenSaved() func(context.Context) error {
	if c.key == nil {
		return func(context.Context) error { return nil }
	}
	result := make(chan error, 1)
	c.answers = append(c.answers, func(err error) { result <- err })
	c.save()
	return func(ctx context.Context) error {
		select {
		case err := <-result:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
