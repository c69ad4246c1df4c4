package client

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Ack says where a message is stored, durably.
type Ack struct {
	Stream    string
	Sequence  uint64
	Duplicate bool // it had been stored before
}

// Offset is the message's offset in the topic that the stream is.
func (a Ack) Offset() int64 { return int64(a.Sequence) - 1 }

// Pending is a message on its way.
type Pending struct {
	number  uint64
	message *nats.Msg
	size    int64
	first   time.Time     // when it was sent first
	due     time.Time     // when it is sent again; guarded by the producer's mutex
	done    chan struct{} // closed when ack and err are set
	ack     Ack
	err     error
}

// Done is closed when the message is answered or given up.
func (f *Pending) Done() <-chan struct{} { return f.done }

// Wait waits for the answer. Errors: *RefusedError, ErrNoStream, ErrUnknown, *HeldError when the broker took no more for as
// long as it was asked; ctx's error, after which Wait may be called again.
func (f *Pending) Wait(ctx context.Context) (Ack, error) {
	select {
	case <-f.done:
		return f.ack, f.err
	case <-ctx.Done():
		return Ack{}, ctx.Err()
	}
}

// codeTooMany is the broker's refusal to take more at the moment.
const codeTooMany = 10167

// answered takes the broker's answer to a message.
func (p *Producer) answered(reply *nats.Msg) {
	number, err := strconv.ParseUint(strings.TrimPrefix(reply.Subject, p.prefix), 10, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	f := p.inFlight[number]
	p.mu.Unlock()
	if f == nil {
		return // a second answer
	}
	if len(reply.Data) == 0 && reply.Header.Get("Status") == "503" {
		p.settle(f, Ack{}, ErrNoStream)
		return
	}
	var answer struct {
		Stream    string `json:"stream"`
		Sequence  uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
		Error     *struct {
			Code   int    `json:"err_code"`
			Reason string `json:"description"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(reply.Data, &answer); {
	case err != nil || answer.Error == nil && answer.Stream == "":
		p.settle(f, Ack{}, &RefusedError{Subject: f.message.Subject, Reason: "the answer is no acknowledgement of a stream"})
	case answer.Error == nil:
		p.settle(f, Ack{answer.Stream, answer.Sequence, answer.Duplicate}, nil)
	case answer.Error.Code == codeTooMany:
		p.delay(f, answer.Error.Reason)
	default:
		p.settle(f, Ack{}, &RefusedError{f.message.Subject, answer.Stream, answer.Error.Code, answer.Error.Reason})
	}
}

// delay has a message sent again soon, which the broker had no room for.
func (p *Producer) delay(f *Pending, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pressure = reason
	f.due = time.Now().Add(p.config.AckWait / 10)
}

// watch sends messages again: those without an answer when their time has come, and all when the connection is back.
func (p *Producer) watch(status chan nats.Status) {
	defer close(p.stopped)
	defer p.nc.RemoveStatusListener(status)
	tick := time.NewTicker(p.config.AckWait / 10)
	defer tick.Stop()
	for {
		reconnected := false
		select {
		case <-p.stop:
			return
		case s, open := <-status:
			if !open || s == nats.CLOSED {
				p.end()
				<-p.stop
				return
			}
			reconnected = true
		case <-tick.C:
		}
		p.again(reconnected)
	}
}

// end fails what is on its way when the connection is closed.
func (p *Producer) end() {
	for _, f := range p.all() {
		p.settle(f, Ack{}, ErrUnknown)
	}
}

// again sends what is due, or everything, and gives up what is too old.
func (p *Producer) again(everything bool) {
	now := time.Now()
	connected := p.nc.IsConnected()
	for _, f := range p.all() {
		if now.Sub(f.first) > p.config.GiveUp {
			p.giveUp(f)
			continue
		}
		p.mu.Lock()
		due := connected && (everything || now.After(f.due))
		if due {
			f.due = now.Add(p.config.AckWait)
		}
		p.mu.Unlock()
		if !due {
			continue
		}
		if err := p.send(f); err != nil {
			p.settle(f, Ack{}, err)
		}
	}
}

// giveUp fails a message; with the broker's own reason if it gave one.
func (p *Producer) giveUp(f *Pending) {
	p.mu.Lock()
	pressed := p.pressure != ""
	p.mu.Unlock()
	err := ErrUnknown
	if pressed {
		err = p.held(ErrUnknown)
	}
	p.settle(f, Ack{}, err)
}
