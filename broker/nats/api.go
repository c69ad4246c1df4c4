package nats

import (
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// api answers JetStream's requests: it decodes each, lets topic/stream or consumer/durable do it, and encodes what became
// of it.
type api struct {
	streams   *stream.Streams
	consumers *durable.Consumers
	door      door
	server    identity
	logger    zerolog.Logger
	endpoints []endpoint
	transfers transfers

	total, failed atomic.Uint64 // answers, and how many of them were errors
}

// door is the way to the clients.
type door interface {
	durable.Outlet
	// Answer publishes for the broker, to whoever listens, and into the stream that has the subject.
	Answer(subject, reply string, header, data []byte)
	// Subscribed says whether somebody subscribed to exactly this subject, not to a filter that matches it.
	Subscribed(subject string) bool
}

// identity is what the broker calls itself.
type identity struct {
	name, id, version, host string
	domain                  string // of JetStream; "" for none
}

func newAPI(streams *stream.Streams, consumers *durable.Consumers, d door, server identity, logger zerolog.Logger) *api {
	return &api{
		streams: streams, consumers: consumers, door: d, server: server, logger: logger,
		endpoints: endpoints(),
	}
}

// request starts to answer a request of the API.
func (a *api) request(r *request) bool {
	e := a.endpoint(r)
	if e == nil || e.there != nil && (r.from.peer.barred() || !e.there(a, r)) {
		return false
	}
	if e.inline {
		e.serve(a, r)
		return true
	}
	if !r.from.enqueue(r, func() { a.handle(e, r) }) {
		a.respond(e, r, nil, stream.ErrUnavailable)
	}
	return true
}

func (a *api) handle(e *endpoint, r *request) {
	if e.serve != nil {
		e.serve(a, r)
		return
	}
	if r.from.peer.barred() {
		a.respond(e, r, nil, stream.ErrNotEnabledForAccount)
		return
	}
	if r.tooNew() {
		a.respond(e, r, nil, stream.ErrRequiredAPILevel)
		return
	}
	payload, err := e.answer(a, r)
	a.respond(e, r, payload, err)
	if p, ok := payload.(follower); ok && err == nil {
		p.follow()
	}
}

// follower is the payload of an answer that something comes after.
type follower interface{ follow() }

// respond sends an answer and counts it. A request for no more than to be done has no reply subject.
func (a *api) respond(e *endpoint, r *request, payload any, err error) {
	a.total.Add(1)
	if err != nil {
		a.failed.Add(1)
		if _, known := errors.AsType[*stream.Error](err); !known {
			a.logger.Error().Err(err).Str("subject", r.subject).Msg("A request of JetStream's API failed.")
		}
	}
	if e.answers == "" { // nothing that JSON could answer; the queue is full
		a.status(r, "429 Too Many Requests")
		return
	}
	body, err := e.encode(payload, err)
	if err != nil {
		a.logger.Error().Err(err).Str("subject", r.subject).Msg("The answer to a request of JetStream's API could not be encoded; none was sent.")
		return
	}
	if r.reply != "" {
		a.door.Answer(r.reply, "", nil, body)
	}
	a.audit(r, body)
}

// status sends a status line instead of a message.
func (a *api) status(r *request, line string) {
	a.door.Answer(r.reply, "", []byte("NATS/1.0 "+line+"\r\n\r\n"), nil)
}
