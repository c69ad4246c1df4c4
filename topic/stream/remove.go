package stream

import (
	"errors"

	"brokerd/topic"
)

// removeAtOnce is the most messages that a purge takes in one go.
const removeAtOnce = 1 << 16

// Purge says which messages go.
type Purge struct {
	Filter string // only subjects that it matches; "" for all
	Below  uint64 // only sequences below; 0 for all
	Keep   uint64 // but not the newest so many; not together with Below
}

// Purge removes messages, durably, and says how many they were. Errors: *Error.
func (s *Stream) Purge(p Purge) (uint64, error) {
	conf := s.config.Load()
	switch {
	case conf.Sealed:
		return 0, ErrSealed
	case conf.DenyPurge:
		return 0, PurgeFailed(errors.New("stream purge not permitted"))
	}
	whole := p.Filter == "" || p.Filter == ">"
	var below uint64
	err := s.with(func(_ topic.Tail, c *contents) error {
		if m, ok := c.index.subjects.matcher(filters(p.Filter)); ok {
			below = c.purgeEnd(p, m)
		}
		return nil
	})
	if err != nil || below == 0 {
		return 0, err
	}
	if whole && !s.kafka() {
		return s.purgeFront(below)
	}
	if err := s.settleRemovals(); err != nil {
		return 0, PurgeFailed(err)
	}
	var total uint64
	for {
		n, err := s.purgeSome(p, below)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// purgeEnd is the sequence below which a purge takes everything that m matches; 0 when it takes nothing.
func (c *contents) purgeEnd(p Purge, m *matcher) uint64 {
	end := c.last + 1
	if p.Below > 0 {
		end = min(end, p.Below)
	}
	if p.Keep == 0 {
		return end
	}
	total := c.index.total(m)
	if total <= p.Keep {
		return 0
	}
	// The newest ones are found from the end, by halves: pending falls as the sequence rises.
	low, high := uint64(1), end
	for low < high {
		if mid := low + (high-low)/2; c.index.pending(mid, m) > p.Keep {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// purgeFront removes everything below a sequence.
func (s *Stream) purgeFront(below uint64) (n uint64, err error) {
	var before uint64
	err = s.with(func(_ topic.Tail, c *contents) error {
		before = c.index.messages - c.index.pending(below, nil)
		return nil
	})
	if err != nil || before == 0 {
		return 0, err
	}
	if err := s.part.Discard(int64(below) - 1); err != nil {
		return 0, PurgeFailed(err)
	}
	s.watchers.tell()
	return before, nil
}

// purgeSome removes some of the messages of a purge, and says how many.
func (s *Stream) purgeSome(p Purge, below uint64) (n uint64, err error) {
	var list []int64
	err = s.with(func(_ topic.Tail, c *contents) error {
		m, ok := c.index.subjects.matcher(filters(p.Filter))
		if !ok {
			return nil
		}
		for from := uint64(0); len(list) < removeAtOnce; from++ {
			if from = c.index.next(from, m); from == 0 || from >= below {
				return nil
			}
			list = append(list, int64(from)-1)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if err := s.part.Erase(list, true); err != nil {
		return 0, PurgeFailed(err)
	}
	n, err = s.removed(list)
	return n, err
}

// removed takes messages out of the index that the log has erased.
func (s *Stream) removed(offsets []int64) (n uint64, err error) {
	err = s.with(func(_ topic.Tail, c *contents) error {
		for _, offset := range offsets {
			if e, _, ok := c.index.get(uint64(offset) + 1); ok {
				c.forget(uint64(offset)+1, e)
				n++
			}
		}
		return nil
	})
	s.wake()
	s.watchers.tell()
	return n, err
}

// Delete removes one message, durably; with erase set its bytes are overwritten or taken off the disk as soon as
// compaction comes by. Errors: *Error 10043 when there is none, 10109 and the like when the configuration forbids it.
func (s *Stream) Delete(sequence uint64, erase bool) error {
	conf := s.config.Load()
	switch {
	case conf.Sealed:
		return ErrSealed
	case conf.DenyDelete:
		return MessageDeleteFailed(errors.New("message delete not permitted"))
	}
	err := s.with(func(_ topic.Tail, c *contents) error {
		if _, _, ok := c.index.get(sequence); !ok {
			return NoSequence(sequence)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.settleRemovals(); err != nil {
		return MessageDeleteFailed(err)
	}
	list := []int64{int64(sequence) - 1}
	if err := s.part.Erase(list, true); err != nil {
		return MessageDeleteFailed(err)
	}
	if erase {
		s.part.Reclaim()
	}
	n, err := s.removed(list)
	if err == nil && n == 0 {
		return NoSequence(sequence)
	}
	return err
}

// Acknowledged removes messages that no consumer needs any more, in a stream with interest or work-queue retention. They are
// gone for readers at once, and on disk soon after.
func (s *Stream) Acknowledged(sequences ...uint64) {
	_ = s.with(func(_ topic.Tail, c *contents) error {
		for _, sequence := range sequences {
			c.evict(sequence)
		}
		return nil
	})
	s.wake()
}

// SetInterest says which subjects consumers want; a stream with interest retention stores nothing else. It does not wait,
// and takes no lock of a stream.
func (s *Stream) SetInterest(wanted func(subject string) bool) { s.wanted.Store(&wanted) }

// wants says whether a message with this subject is to be kept.
func (s *Stream) wants(subject string) bool {
	if s.config.Load().Retention != Interest {
		return true
	}
	wanted := s.wanted.Load()
	return wanted != nil && (*wanted)(subject)
}
