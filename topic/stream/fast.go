package stream

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What nats-server allows for fast batches.
const (
	maxFastBatches = 1000 // of one stream
	maxFastEvery   = 500  // messages for each answer
	fastSuffix     = ".$FI"
)

// IsFast says that a message belongs to a fast batch, by where its answers go.
func IsFast(reply string) bool { return strings.HasSuffix(reply, fastSuffix) }

// fastPart is what the reply subject says of a message: PREFIX.ID.EVERY.GAP.NUMBER.OPERATION.$FI
type fastPart struct {
	id        string
	every     uint64 // messages for each answer that the client asks for
	gaps      bool   // the batch goes on when messages are missing
	number    uint64 // of the message in the batch, from 1
	operation string
}

const (
	fastStart  = "0"
	fastAppend = "1"
	fastCommit = "2"
	fastEnd    = "3" // commits, and is no message itself
	fastPing   = "4"
)

func parseFast(reply string) (p fastPart, ok bool) {
	tokens := strings.Split(strings.TrimSuffix(reply, fastSuffix), ".")
	n := len(tokens)
	if n < 6 {
		return p, false
	}
	tokens = tokens[n-5:]
	number, err := strconv.ParseUint(tokens[3], 10, 64)
	every, bad := strconv.ParseUint(tokens[1], 10, 64)
	if bad != nil || every == 0 {
		every = 10
	}
	p = fastPart{tokens[0], min(every, math.MaxUint16), tokens[2] == "ok", number, tokens[4]}
	switch {
	case err != nil || number == 0 || number == math.MaxUint64 || !p.gaps && tokens[2] != "fail":
		return p, false
	case p.operation == fastStart:
		return p, number == 1
	case p.operation == fastAppend, p.operation == fastEnd:
		return p, number > 1
	}
	return p, p.operation == fastCommit || p.operation == fastPing
}

// fastBatches are the fast batches of a stream that are not committed yet.
type fastBatches struct {
	mu   sync.Mutex
	open map[string]*fastBatch // guarded by mu, and with it all of the batches
}

// fastBatch is one of them. Its messages are published like others; the client gets an answer for every so many of them.
type fastBatch struct {
	id       string
	gaps     bool
	most     uint64 // messages for each answer: what the client allows,
	every    uint64 // and what it is now
	got      uint64 // number of the newest message
	stored   uint64 // number of the newest that is durable
	told     uint64 // number that was last answered for
	waiting  int    // messages on their way
	sequence uint64 // of the newest that is stored
	touched  time.Time
	commit   func(Receipt, error) // is told when the last message is durable; nil before the end
	over     bool
}

// publishFast takes a message of a fast batch (ADR-50). Its Done is called once, like that of any other.
func (s *Stream) publishFast(m *incoming) {
	m.done()
	part, err := checkFast(s.config.Load(), m)
	if err != nil {
		m.Done(Receipt{}, err)
		return
	}
	f := &s.fast
	f.mu.Lock()
	b, err := f.find(part)
	if err != nil {
		f.mu.Unlock()
		m.Done(Receipt{}, err)
		return
	}
	b.touched = time.Now()
	say, take := f.step(b, part, m)
	f.mu.Unlock()
	for _, tell := range say {
		tell()
	}
	if !take {
		return
	}
	one := &incoming{Publication: m.Publication, headers: m.headers}
	one.Done = func(r Receipt, err error) { s.fastDone(b, part, m, r, err) }
	if err := s.publish(one); err != nil {
		one.Done(Receipt{}, err)
	}
}

// done makes sure that there are functions to call.
func (m *incoming) done() {
	if m.Done == nil {
		m.Done = func(Receipt, error) {}
	}
	if m.Flow == nil {
		m.Flow = func([]byte) {}
	}
}

// checkFast checks what can be said of a message without its batch.
func checkFast(conf *Config, m *incoming) (fastPart, error) {
	part, ok := parseFast(m.Reply)
	switch {
	case conf.Sealed:
		return part, ErrSealed
	case conf.MaxMsgSize >= 0 && len(m.Header)+len(m.Data) > int(conf.MaxMsgSize):
		return part, ErrMessageTooLarge
	case !conf.AllowBatched:
		return part, ErrBatchDisabled
	case !ok:
		return part, ErrBatchPattern
	case len(part.id) > maxBatchID:
		return part, ErrBatchID
	}
	return part, nil
}

// find returns the open batch, or opens it for its first message. f.mu is held.
func (f *fastBatches) find(p fastPart) (*fastBatch, error) {
	if b := f.open[p.id]; b != nil {
		return b, nil
	}
	if p.number != 1 || p.operation == fastPing {
		return nil, ErrBatchUnknown
	}
	if len(f.open) >= maxFastBatches {
		return nil, ErrBatchTooMany
	}
	b := &fastBatch{id: p.id, gaps: p.gaps, most: p.every, every: 1}
	if len(f.open) == 0 {
		b.every = min(maxFastEvery, p.every)
	}
	if f.open == nil {
		f.open = make(map[string]*fastBatch)
	}
	f.open[p.id] = b
	return b, nil
}

// step is what a message means for its batch: what is to be said at once, and whether the message is to be stored. f.mu is
// held.
func (f *fastBatches) step(b *fastBatch, p fastPart, m *incoming) (say []func(), store bool) {
	silent := func() { m.Done(Receipt{Silent: true}, nil) }
	gap := func(expected, current uint64) {
		say = append(say, func() { m.Flow(fmt.Appendf(nil, `{"type":"gap","last_seq":%d,"seq":%d}`, expected, current)) })
	}
	switch {
	case p.operation == fastPing:
		if p.number > b.got {
			gap(b.got+1, p.number+1)
			if !b.gaps {
				return append(say, f.end(b, m)...), false
			}
			b.got = p.number
			b.skip()
		}
		return append(say, b.flow(m, b.told), silent), false
	case b.commit != nil:
		return append(say, silent), false // it ended with an error, and the client waits for the end
	}
	if next := b.got + 1; p.number != next {
		gap(next, p.number)
		if !b.gaps || p.number < next {
			return append(say, f.end(b, m)...), false
		}
	}
	if p.operation == fastEnd {
		b.got = p.number - 1
		b.skip()
		return append(say, f.end(b, m)...), false
	}
	b.got = p.number
	if p.number == 1 && p.operation != fastCommit {
		say = append(say, b.flow(m, 0))
	}
	if p.operation == fastCommit {
		b.commit = m.Done
	}
	b.waiting++
	return say, true
}

// skip counts messages as stored that will never come.
func (b *fastBatch) skip() {
	if b.waiting == 0 {
		b.stored = b.got
	}
}

// flow answers for the messages up to number.
func (b *fastBatch) flow(m *incoming, number uint64) func() {
	body := fmt.Appendf(nil, `{"type":"ack","seq":%d,"msgs":%d}`, number, b.every)
	return func() { m.Flow(body) }
}

// end commits a batch with what came so far. f.mu is held.
func (f *fastBatches) end(b *fastBatch, m *incoming) []func() {
	if b.commit != nil {
		return append(f.finish(b), func() { m.Done(Receipt{Silent: true}, nil) })
	}
	b.commit = m.Done
	return f.finish(b)
}

// finish acknowledges a batch that is committed and durable, and forgets it. f.mu is held.
func (f *fastBatches) finish(b *fastBatch) []func() {
	if b.commit == nil || b.stored != b.got || b.over {
		return nil
	}
	f.drop(b)
	r := Receipt{Sequence: b.sequence, Batch: b.id, Count: int(b.got)}
	return []func(){func() { b.commit(r, nil) }}
}

func (f *fastBatches) drop(b *fastBatch) {
	b.over = true
	if f.open[b.id] == b {
		delete(f.open, b.id)
	}
}

// fastDone goes on when a message of a batch is durable, or refused.
func (s *Stream) fastDone(b *fastBatch, p fastPart, m *incoming, r Receipt, err error) {
	f := &s.fast
	f.mu.Lock()
	b.waiting--
	silent := func() { m.Done(Receipt{Silent: true}, nil) }
	var say []func()
	if err != nil {
		say = f.refused(b, p, m, err)
	} else {
		if !r.Duplicate {
			b.sequence = r.Sequence
		}
		b.stored = max(b.stored, p.number)
		b.skip()
		say = f.finish(b)
		if len(say) == 0 && !b.over {
			say = f.answer(b, m)
		}
		if p.operation != fastCommit {
			say = append(say, silent)
		}
	}
	f.mu.Unlock()
	for _, tell := range say {
		tell()
	}
}

// refused is what is said when a message was not stored. f.mu is held.
func (f *fastBatches) refused(b *fastBatch, p fastPart, m *incoming, err error) []func() {
	if p.number == 1 && !b.gaps && !b.over {
		f.drop(b)
		return []func(){func() { m.Done(Receipt{}, err) }}
	}
	var say []func()
	if body, bad := json.Marshal(fastError{"err", p.number, err}); bad == nil {
		say = append(say, func() { m.Flow(body) })
	}
	if !b.gaps {
		b.got = min(b.got, p.number-1)
	}
	b.skip()
	silent := func() { m.Done(Receipt{Silent: true}, nil) }
	switch {
	case b.over:
		return append(say, silent)
	case p.operation == fastCommit:
		return append(say, f.finish(b)...)
	case b.gaps:
		return append(append(say, silent), f.finish(b)...)
	}
	return append(say, f.end(b, m)...)
}

// fastError is the answer for a message that was refused.
type fastError struct {
	Type   string `json:"type"`
	Number uint64 `json:"seq"`
	Error  error  `json:"error"`
}

// answer tells the client how far its messages are durable, when there are enough of them, and how many it may send until
// the next answer: the batches of a stream share maxFastEvery, and come near their share by halves and doubles. f.mu is held.
func (f *fastBatches) answer(b *fastBatch, m *incoming) []func() {
	if b.stored < b.told+b.every {
		return nil
	}
	b.told += (b.stored - b.told) / b.every * b.every
	share := min(max(maxFastEvery/uint64(max(len(f.open), 1)), 1), b.most)
	if b.every < share {
		b.every = min(b.every*2, share)
	} else {
		b.every = max(b.every/2, share)
	}
	return []func(){b.flow(m, b.told)}
}

// idle drops batches that nobody has added to for too long.
func (f *fastBatches) idle(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.open {
		if b.commit == nil && now.Sub(b.touched) >= batchIdle {
			f.drop(b)
		}
	}
}
