package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// ProducerConfig says how much may be on its way. The zero value takes the defaults.
type ProducerConfig struct {
	MaxMessages int           // on their way at once; 1024 by default
	MaxBytes    int64         // of theirs, subjects, headers and data; 8 MiB by default. One larger message goes alone
	AckWait     time.Duration // after which a message that is not answered is sent again; 5 s by default
	GiveUp      time.Duration // after which it fails with ErrUnknown; 2 min by default
}

// Producer publishes messages to streams. It sends each message until it is answered, also after the connection was lost
// and found again, under one Nats-Msg-Id: a stream whose duplicate window is longer than ProducerConfig.GiveUp stores it
// once. Messages are stored in the order of Publish, unless some had to be sent again; connect with
// nats.ReconnectBufSize(-1) so that a reconnect keeps the order as well.
//
// Its methods may be called from several goroutines.
type Producer struct {
	nc      *nats.Conn
	config  ProducerConfig
	id      string // the start of each Nats-Msg-Id
	replies *nats.Subscription
	prefix  string // of the reply subjects; a message's number follows
	stop    chan struct{}
	stopped chan struct{}

	mu       sync.Mutex
	inFlight map[uint64]*Pending // by number; guarded by mu, as are the fields below
	last     uint64              // number given out
	bytes    int64
	moved    chan struct{} // closed, and replaced, when messages leave
	failure  error         // of the first message that failed since the last Flush
	pressure string        // the reason of the broker's last refusal to take more, until it takes some
	closed   bool
}

// NewProducer makes a producer, which must be closed.
func NewProducer(nc *nats.Conn, config ProducerConfig) (*Producer, error) {
	config.MaxMessages = cmp.Or(config.MaxMessages, 1024)
	config.MaxBytes = cmp.Or(config.MaxBytes, 8<<20)
	config.AckWait = cmp.Or(config.AckWait, 5*time.Second)
	config.GiveUp = cmp.Or(config.GiveUp, 2*time.Minute)
	inbox := nc.NewInbox()
	p := &Producer{
		nc: nc, config: config, prefix: inbox + ".", id: inbox[strings.LastIndexByte(inbox, '.')+1:] + "-",
		stop: make(chan struct{}), stopped: make(chan struct{}),
		inFlight: map[uint64]*Pending{}, moved: make(chan struct{}),
	}
	var err error
	if p.replies, err = nc.Subscribe(p.prefix+"*", p.answered); err != nil {
		return nil, fmt.Errorf("client: listen for acknowledgements: %w", err)
	}
	// No message of a reply may be dropped; there are no more than messages on their way, resent ones included.
	if err := p.replies.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("client: listen for acknowledgements: %w", err)
	}
	go p.watch(nc.StatusChanged(nats.CONNECTED, nats.CLOSED))
	return p, nil
}

// Publish sends a message, which must not be changed until it is answered; it waits while there is no room for it. The
// answer comes through the Pending, or with Flush. Errors: *HeldError when ctx is done first, ErrClosed, *RefusedError for a
// message that the connection cannot carry.
func (p *Producer) Publish(ctx context.Context, m *nats.Msg) (*Pending, error) {
	f, err := p.enter(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := p.send(f); err != nil {
		p.settle(f, Ack{}, err)
		return nil, err
	}
	return f, nil
}

// Flush waits until all messages that were published before are answered. Its error is that of the first message that
// failed since the last Flush, or *HeldError when ctx is done first.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	upTo := p.last
	p.mu.Unlock()
	for {
		p.mu.Lock()
		waiting := false
		for number := range p.inFlight {
			waiting = waiting || number <= upTo
		}
		if !waiting {
			err := p.failure
			p.failure = nil
			p.mu.Unlock()
			return err
		}
		moved := p.moved
		p.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return p.held(ctx.Err())
		}
	}
}

// Close refuses further messages, waits as Flush does, and lets go of the connection, which stays open. Messages that are
// still on their way when ctx is done fail with ErrUnknown.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	p.mu.Unlock()
	if already {
		return ErrClosed
	}
	err := p.Flush(ctx)
	close(p.stop)
	<-p.stopped
	for _, f := range p.all() {
		p.settle(f, Ack{}, ErrUnknown)
	}
	if unsubscribe := p.replies.Unsubscribe(); err == nil && !p.nc.IsClosed() {
		err = unsubscribe
	}
	return err
}

// InFlight is what is on its way now.
func (p *Producer) InFlight() (messages int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.inFlight), p.bytes
}

// enter waits for room, and takes it.
func (p *Producer) enter(ctx context.Context, m *nats.Msg) (*Pending, error) {
	size := sizeOf(m)
	for {
		p.mu.Lock()
		if p.closed || p.nc.IsClosed() {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		room := len(p.inFlight) < p.config.MaxMessages && p.bytes+size <= p.config.MaxBytes
		if room || len(p.inFlight) == 0 {
			p.last++
			p.bytes += size
			now := time.Now()
			f := &Pending{number: p.last, message: p.label(m, p.last), size: size, first: now, due: now.Add(p.config.AckWait),
				done: make(chan struct{})}
			p.inFlight[f.number] = f
			p.mu.Unlock()
			return f, nil
		}
		moved := p.moved
		p.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, p.held(ctx.Err())
		}
	}
}

// label gives a message its reply subject and, unless it has one, its id.
func (p *Producer) label(m *nats.Msg, number uint64) *nats.Msg {
	text := strconv.FormatUint(number, 10)
	labelled := &nats.Msg{Subject: m.Subject, Reply: p.prefix + text, Header: m.Header, Data: m.Data}
	if m.Header.Get(nats.MsgIdHdr) == "" {
		labelled.Header = nats.Header{}
		maps.Copy(labelled.Header, m.Header)
		labelled.Header.Set(nats.MsgIdHdr, p.id+text)
	}
	return labelled
}

// send passes a message to the connection. One that it cannot take at the moment is sent later.
func (p *Producer) send(f *Pending) error {
	err := p.nc.PublishMsg(f.message)
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		return ErrClosed
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrHeadersNotSupported):
		return &RefusedError{Subject: f.message.Subject, Reason: err.Error()}
	}
	return nil
}

// settle ends a message's way, once.
func (p *Producer) settle(f *Pending, ack Ack, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight[f.number] != f {
		return
	}
	delete(p.inFlight, f.number)
	p.bytes -= f.size
	if err == nil {
		p.pressure = ""
	} else if p.failure == nil {
		p.failure = err
	}
	f.ack, f.err = ack, err
	close(f.done)
	close(p.moved)
	p.moved = make(chan struct{})
}

// all is what is on its way, in the order of Publish.
func (p *Producer) all() []*Pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.inFlight), func(a, b *Pending) int { return cmp.Compare(a.number, b.number) })
}

// held says who holds the producer.
func (p *Producer) held(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := &HeldError{Messages: len(p.inFlight), Bytes: p.bytes, err: err}
	for _, f := range p.inFlight {
		e.Oldest = max(e.Oldest, time.Since(f.first))
	}
	switch {
	case !p.nc.IsConnected():
		e.By = fmt.Sprintf("the lost connection to %s", p.nc.Opts.Url)
	case p.pressure != "":
		e.By = fmt.Sprintf("the broker, which says %q", p.pressure)
	default:
		e.By = fmt.Sprintf("the broker at %s, which has not answered yet", p.nc.ConnectedUrlRedacted())
	}
	return e
}

// sizeOf is what a message counts in the window.
func sizeOf(m *nats.Msg) int64 {
	size := len(m.Subject) + len(m.Data)
	for name, values := range m.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	return int64(size)
}
