package stream

import (
	"bytes"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"brokerd/log"
	"brokerd/topic"
)

// What nats-server allows for atomic batches (ADR-50), and what memory they may take here.
const (
	maxBatchMessages = 1000
	maxBatchBytes    = 48 << 20 // one batch of the log must hold it, and readers must unpack it
	maxOpenBatches   = 50       // of one stream
	maxOpenTotal     = 1000     // of all streams
	maxOpenBytes     = 256 << 20
	maxBatchID       = 64
	batchIdle        = 10 * time.Second
)

// openBatches counts the batches of a stream that are not committed yet, and with them those of all streams.
type openBatches struct {
	all           *openBatches // nil in what counts all streams
	number, bytes atomic.Int64
}

// take makes room for more, unless that is too much for all streams.
func (o *openBatches) take(number, bytes int64) bool {
	if o.all != nil && !o.all.take(number, bytes) {
		return false
	}
	n, b := o.number.Add(number), o.bytes.Add(bytes)
	if o.all == nil && (n > maxOpenTotal || b > maxOpenBytes) {
		o.give(number, bytes)
		return false
	}
	return true
}

func (o *openBatches) give(number, bytes int64) {
	o.number.Add(-number)
	o.bytes.Add(-bytes)
	if o.all != nil {
		o.all.give(number, bytes)
	}
}

// batches are the atomic batches of a stream that are not committed yet. The partition's lock guards them.
type batches struct {
	room *openBatches
	open map[string]*batch
}

// batch is one of them.
type batch struct {
	id       string
	messages []incoming
	bytes    int
	touched  time.Time

	// While it is committed: the subjects that it has written to, and what is to be done when it is durable.
	wrote     map[string]bool
	last      uint64
	republish []func()
}

// took notes a message that has its sequence.
func (b *batch) took(subject string, a ack) {
	b.wrote[subject] = true
	b.last = a.needs
	if a.republish != nil {
		b.republish = append(b.republish, a.republish)
	}
}

// drop forgets a batch.
func (bs *batches) drop(b *batch) {
	if bs.open[b.id] == b {
		delete(bs.open, b.id)
		bs.room.give(1, int64(b.bytes))
	}
}

// idle drops batches that nobody has added to for too long, and says when to look again; zero when none is open.
func (bs *batches) idle(now time.Time) (next time.Time, dropped []string) {
	for _, b := range bs.open {
		end := b.touched.Add(batchIdle)
		if !now.Before(end) {
			bs.drop(b)
			dropped = append(dropped, b.id)
		} else if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next, dropped
}

// publishBatch takes a message of an atomic batch; the one that commits it stores them all, or none. Errors: *Error.
func (s *Stream) publishBatch(m *incoming) (now Receipt, err error) {
	if err := s.prepareCounter(m); err != nil {
		return now, err
	}
	abandoned := ""
	err = s.with(func(t topic.Tail, c *contents) error {
		conf := s.config.Load()
		number, err := checkBatch(conf, m)
		if err != nil {
			return err
		}
		b, err := c.batches.find(m.headers.batch, number, m.headers.batchCommit)
		if err != nil {
			return err
		}
		commit, err := b.add(&c.batches, number, m)
		if err != nil {
			c.batches.drop(b)
			abandoned = abandonReason(err)
			return err
		}
		if !commit {
			now.Pending = true
			return nil
		}
		c.batches.drop(b)
		return s.commit(t, c, b, m)
	})
	s.wake()
	if abandoned != "" {
		s.abandoned(m.headers.batch, abandoned)
	}
	return now, err
}

// abandonReason is the word of the advisory for a batch that this error ended; "" for those that have none.
func abandonReason(err error) string {
	switch {
	case errors.Is(err, ErrAtomicIncomplete):
		return "incomplete"
	case errors.Is(err, AtomicTooLarge(0)):
		return "large"
	}
	return ""
}

// checkBatch checks what can be said of a message without its batch, and returns its number in it.
func checkBatch(conf *Config, m *incoming) (number uint64, err error) {
	switch {
	case conf.Sealed:
		return 0, ErrSealed
	case conf.MaxMsgSize >= 0 && len(m.Header)+len(m.Data) > int(conf.MaxMsgSize):
		return 0, ErrMessageTooLarge
	case !conf.AllowAtomic:
		return 0, ErrAtomicDisabled
	case len(m.headers.batch) > maxBatchID:
		return 0, ErrAtomicID
	}
	number, err = strconv.ParseUint(m.headers.batchSequence, 10, 64)
	if err != nil {
		return 0, ErrAtomicSequenceMissing
	}
	return number, nil
}

// find returns the open batch, or opens it for its first message.
func (bs *batches) find(id string, number uint64, commit string) (*batch, error) {
	if b := bs.open[id]; b != nil {
		return b, nil
	}
	if number != 1 {
		if commit == "eob" {
			number--
		}
		if number > maxBatchMessages {
			return nil, AtomicTooLarge(maxBatchMessages)
		}
		return nil, ErrAtomicIncomplete
	}
	if len(bs.open) >= maxOpenBatches || !bs.room.take(1, 0) {
		return nil, ErrAtomicTooMany
	}
	b := &batch{id: id}
	if bs.open == nil {
		bs.open = make(map[string]*batch)
	}
	bs.open[id] = b
	return b, nil
}

// add takes the next message, and says whether it commits the batch. After an error the batch is void.
func (b *batch) add(bs *batches, number uint64, m *incoming) (commit bool, err error) {
	end := m.headers.batchCommit == "eob"
	commit = m.headers.batchCommit != ""
	if commit && !end && m.headers.batchCommit != "1" {
		return false, ErrAtomicCommit
	}
	if number != uint64(len(b.messages))+1 || end && number == 1 {
		return false, ErrAtomicIncomplete
	}
	if end {
		last := &b.messages[len(b.messages)-1]
		last.Header = setHeader(last.Header, headerBatchCommit, "1")
		return true, nil
	}
	size := len(m.Subject) + len(m.Header) + len(m.Data)
	if number > maxBatchMessages || b.bytes+size > maxBatchBytes {
		return false, AtomicTooLarge(maxBatchMessages)
	}
	if !bs.room.take(0, int64(size)) {
		return false, ErrAtomicTooMany
	}
	staged := *m
	staged.Header, staged.Data, staged.Done = bytes.Clone(m.Header), bytes.Clone(m.Data), nil
	staged.staged = b
	b.messages = append(b.messages, staged)
	b.bytes += size
	b.touched = time.Now()
	return commit, nil
}

// commit stores the batch as one batch of the log, so that it is there after a crash as a whole or not at all.
func (s *Stream) commit(t topic.Tail, c *contents, b *batch, m *incoming) error {
	s.flush(t)
	first := c.head(t) + 1
	lastID := c.lastID
	b.wrote = make(map[string]bool)
	for i := range b.messages {
		one := &b.messages[i]
		err := error(nil)
		if one.headers.expectedID != "" {
			err = AtomicHeader(headerExpectedID)
		} else {
			err = s.accept(t, c, one)
		}
		if err != nil {
			c.builder = log.Builder{}
			c.undo(first)
			c.lastID = lastID
			return err
		}
	}
	republish := func() {
		for _, f := range b.republish {
			f()
		}
	}
	err := s.acks.add(ack{
		needs: b.last, receipt: Receipt{Sequence: b.last, Batch: b.id, Count: len(b.messages)}, done: m.Done,
		size: b.bytes, republish: republish,
	})
	s.flush(t)
	return err
}
