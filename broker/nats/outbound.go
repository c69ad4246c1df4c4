package nats

import (
	"sync"

	"brokerd/broker/nats/wire"
)

const (
	// comfortable is how many bytes may wait for a connection before consumers wait for it. With less than half of it
	// they go on.
	comfortable = 1 << 20
	// fairShare is what a connection may have waiting when more than Limits.Memory waits for all of them.
	fairShare = 1 << 20
	// batchSize is how many bytes are written with one deadline.
	batchSize = 1 << 20
)

// outbound is what waits to be written to one client. Anybody may add to it; only the connection's writer takes.
type outbound struct {
	limit   int64 // bytes that may wait
	shared  int64 // bytes that may wait for all clients
	buffers *buffers
	wake    chan struct{} // holds one: there is something to write, or the end
	kill    func(error)   // ends the connection at once; it does not wait

	mu       sync.Mutex
	queue    []*chunk            // guarded by mu, like all below
	pending  int64               // bytes in queue, and in what is being written
	headers  bool                // the client understands header blocks
	ended    bool                // nothing more is taken
	reason   error               // why, if the client is to blame
	sent     traffic             // messages to the client
	line     []byte              // memory for the line before a message
	by       *pass               // who wakes the writer at its end
	number   uint64              // of the pass
	eased    chan struct{}       // publishers wait for it, which is closed when less is pending; nil for nobody
	starving map[string]struct{} // subjects for which consumers wait until less is pending
}

func newOutbound(l Limits, b *buffers) *outbound {
	return &outbound{limit: l.MaxPending, shared: l.Memory, buffers: b, wake: make(chan struct{}, 1)}
}

// message queues a message for a subscription. p, if not nil, wakes the writer later. eased is set when publishers are to
// wait for it, for a short time. ok says that the message is queued; end, that it is the last one of the subscription.
func (o *outbound) message(sub *subscription, m *publication, p *pass) (eased <-chan struct{}, ok, end bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || sub.ended {
		return nil, false, false
	}
	header := m.header
	if !o.headers {
		header = nil
	}
	o.line = wire.AppendMsg(o.line[:0], m.subject, sub.sid, m.reply, len(header), len(m.data))
	if !o.fits(int64(len(o.line) + len(header) + len(m.data) + len(crlf))) {
		return nil, false, false
	}
	o.add(o.line)
	o.add(header)
	o.add(m.data)
	o.add(crlf)
	o.sent.Messages++
	o.sent.Bytes += int64(len(header) + len(m.data))
	o.signal(p)
	sub.delivered++
	if sub.max > 0 && sub.delivered >= sub.max {
		sub.ended, end = true, true
	}
	return o.full(), true, end
}

// full is what publishers wait for when nearly as much is waiting as may; nil when there is room. o.mu is held.
func (o *outbound) full() <-chan struct{} {
	if o.ended || o.pending <= o.limit/4*3 {
		return nil
	}
	if o.eased == nil {
		o.eased = make(chan struct{})
	}
	return o.eased
}

// nearlyFull is full for the client itself.
func (o *outbound) nearlyFull() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full()
}

var crlf = []byte("\r\n")

// text queues what is no message.
func (o *outbound) text(b []byte, p *pass) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || !o.fits(int64(len(b))) {
		return
	}
	o.add(b)
	o.signal(p)
}

// fits takes room for n bytes. If there is none, this is the end of a client that is too slow. o.mu is held.
func (o *outbound) fits(n int64) bool {
	o.pending += n
	all := o.buffers.taken.Add(n)
	if o.pending > o.limit || all > o.shared && o.pending > fairShare {
		o.finish(errSlow)
		o.kill(errSlow)
		return false
	}
	return true
}

// add copies b to the end of the queue. o.mu is held.
func (o *outbound) add(b []byte) {
	for len(b) > 0 {
		var last *chunk
		if n := len(o.queue); n > 0 {
			last = o.queue[n-1]
		}
		if last == nil || len(last.b) == cap(last.b) {
			last = o.buffers.get(last == nil)
			o.queue = append(o.queue, last)
		}
		n := min(len(b), cap(last.b)-len(last.b))
		last.b = append(last.b, b[:n]...)
		b = b[n:]
	}
}

// signal wakes the writer, or has p do it. o.mu is held.
func (o *outbound) signal(p *pass) {
	if p == nil {
		o.wakeUp()
		return
	}
	if o.by != p || o.number != p.number {
		o.by, o.number = p, p.number
		p.touched = append(p.touched, o)
	}
}

func (o *outbound) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// end lets nothing more be queued; the writer returns when it has written what is. reason, if there is one, is why.
func (o *outbound) end(reason error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish(reason)
}

// finish is end with o.mu held. Whoever waits for the client to read stops waiting.
func (o *outbound) finish(reason error) {
	o.ended = true
	if o.reason == nil {
		o.reason = reason
	}
	o.ease()
	o.wakeUp()
}

func (o *outbound) ease() {
	if o.eased != nil {
		close(o.eased)
		o.eased = nil
	}
}

// take appends to batch the next bytes to write, in pieces: none when there is nothing. ended says that nothing will follow.
func (o *outbound) take(batch []*chunk) (_ []*chunk, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < len(o.queue) && size < batchSize {
		size += len(o.queue[n].b)
		n++
	}
	batch = append(batch, o.queue[:n]...)
	left := copy(o.queue, o.queue[n:])
	clear(o.queue[left:])
	o.queue = o.queue[:left]
	return batch, o.ended
}

// written gives back what take took. It returns the subjects whose consumers wait for the room that there is now.
func (o *outbound) written(batch []*chunk) (starving map[string]struct{}) {
	size := int64(0)
	for _, c := range batch {
		size += int64(len(c.b))
		o.buffers.put(c)
	}
	o.buffers.taken.Add(-size)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending -= size
	if o.pending <= o.limit/2 {
		o.ease()
	}
	if o.pending < comfortable/2 {
		starving, o.starving = o.starving, nil
	}
	return starving
}

// close forgets what was not written. It returns the subjects whose consumers wait for the client.
func (o *outbound) close() (starving map[string]struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish(nil)
	o.buffers.taken.Add(-o.pending)
	o.queue, o.pending = nil, 0
	starving, o.starving = o.starving, nil
	return starving
}

// room is how many bytes consumers may send. If there are none, whoever watches inbox is told when there are.
func (o *outbound) room(inbox string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := comfortable - o.pending
	if room <= 0 && !o.ended {
		if o.starving == nil {
			o.starving = map[string]struct{}{}
		}
		o.starving[inbox] = struct{}{}
	}
	return room
}

// understandHeaders says whether the client does.
func (o *outbound) understandHeaders(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.headers = yes
}

// why is what the client is to blame for; nil for nothing.
func (o *outbound) why() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason
}

// state is how much is waiting and what was sent.
func (o *outbound) state() (pending int64, sent traffic) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending, o.sent
}
