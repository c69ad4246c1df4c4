package stream

import (
	"bytes"
	"iter"

	"brokerd/topic/subject"
)

// book is what a stream's configuration has to respect: those of other streams.
type book struct {
	find   func(name string) (Config, bool)
	others iter.Seq[Config] // with whose subjects it may not overlap
}

// create completes the configuration of a new stream; exists says that there is a stream which has it already.
// Errors: *Error.
func (b book) create(c Config, pedantic bool) (done Config, exists bool, err error) {
	if c, err = b.check(c, pedantic); err != nil {
		return Config{}, false, err
	}
	if c.Replicas > 1 {
		return Config{}, false, ErrReplicas
	}
	if old, ok := b.find(c.Name); ok {
		if !bytes.Equal(encode(old), encode(c)) {
			return Config{}, false, ErrStreamExists
		}
		return old, true, nil
	}
	if b.taken(c) {
		return Config{}, false, ErrSubjectOverlap
	}
	return c, false, nil
}

// update completes the new configuration of a stream that there is. Errors: *Error.
func (b book) update(c Config, pedantic bool) (Config, error) {
	c, err := b.check(c, pedantic)
	if err != nil {
		return Config{}, err
	}
	old, ok := b.find(c.Name)
	if !ok {
		return Config{}, ErrStreamNotFound
	}
	if err := mayBecome(old, c); err != nil {
		return Config{}, err
	}
	if c.Sealed {
		c.MaxAge, c.Discard = 0, DiscardNew
		c.DenyDelete, c.DenyPurge, c.AllowRollup = true, true, false
	}
	if b.taken(c) {
		return Config{}, ErrSubjectOverlap
	}
	return c, nil
}

// taken says that another stream has a subject of c.
func (b book) taken(c Config) bool {
	for other := range b.others {
		for _, s := range c.Subjects {
			for _, o := range other.Subjects {
				if subject.Overlap(s, o) {
					return true
				}
			}
		}
	}
	return false
}

// mayBecome says what of a stream's configuration cannot change from old to c.
func mayBecome(old, c Config) error {
	switch {
	case c.Name != old.Name:
		return invalid("stream configuration name must match original")
	case c.Replicas > 1:
		return ErrReplicas
	case c.Storage != old.Storage:
		return invalid("stream configuration update can not change storage type")
	case c.Retention != old.Retention && (c.Retention == WorkQueue || old.Retention == WorkQueue):
		return invalid("stream configuration update can not change retention policy to/from workqueue")
	case old.Sealed && !c.Sealed:
		return invalid("stream configuration update can not unseal a sealed stream")
	case old.DenyDelete && !c.DenyDelete:
		return invalid("stream configuration update can not cancel deny message deletes")
	case old.DenyPurge && !c.DenyPurge:
		return invalid("stream configuration update can not cancel deny purge")
	case c.Mirror != nil && !bytes.Equal(encode(c.Mirror), encode(old.Mirror)):
		return ErrMirrorNotUpdatable // to take it away makes the mirror a stream of its own
	case old.AllowTTL && !c.AllowTTL:
		return invalid("message TTL status can not be disabled")
	case old.Schedules && !c.Schedules:
		return invalid("message schedules can not be disabled")
	case c.AllowCounter != old.AllowCounter:
		return invalid("stream configuration update can not change message counter setting")
	case c.PersistMode != old.PersistMode:
		return invalid("stream configuration update can not change persist mode")
	}
	return nil
}
