package nats

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nuid"
)

const (
	advisoryPrefix = "$JS.EVENT.ADVISORY."
	advisoryTypes  = "io.nats.jetstream.advisory.v1."
)

// event is what every advisory begins with.
type event struct {
	Type string    `json:"type"`
	ID   string    `json:"id"`
	Time time.Time `json:"timestamp"`
}

func newEvent(kind string) event {
	return event{advisoryTypes + kind, nuid.Next(), time.Now().UTC()}
}

type apiAudit struct {
	event
	Server   string     `json:"server"`
	Client   clientInfo `json:"client"`
	Subject  string     `json:"subject"`
	Request  string     `json:"request,omitempty"`
	Response string     `json:"response"`
	Domain   string     `json:"domain,omitempty"`
}

// audit tells of an answer.
func (a *api) audit(r *request, response []byte) {
	const subject = advisoryPrefix + "API"
	if a.wanted(subject) {
		a.advise(subject, apiAudit{newEvent("api_audit"), a.server.name, r.from.peer.client(), r.subject, string(r.body), string(response), a.server.domain})
	}
}

// wanted says whether anybody listens to an advisory, or a stream keeps it. What is kept is a message like any other, of
// which nothing more is told.
func (a *api) wanted(subject string) bool {
	if a.door.Listening(subject, "") {
		return true
	}
	_, kept := a.streams.ForSubject(subject)
	return kept
}

// advise publishes an advisory.
func (a *api) advise(subject string, advisory any) {
	data, err := json.Marshal(advisory)
	if err != nil {
		a.logger.Error().Err(err).Str("subject", subject).Msg("An advisory could not be encoded; it was not sent.")
		return
	}
	a.door.Publish(subject, nil, data)
}

// tell publishes an advisory about a stream, if anybody wants it; kind and name are the end of its subject.
func (a *api) tell(kind, name string, advisory any) {
	if subject := advisoryPrefix + kind + "." + name; a.wanted(subject) {
		a.advise(subject, advisory)
	}
}

type snapshotBegun struct {
	event
	Stream string      `json:"stream"`
	State  streamState `json:"state"`
	Client clientInfo  `json:"client"`
}

type snapshotEnded struct {
	event
	Stream string     `json:"stream"`
	Start  time.Time  `json:"start"`
	End    time.Time  `json:"end"`
	Client clientInfo `json:"client"`
	Error  string     `json:"error,omitempty"`
}

type restoreBegun struct {
	event
	Stream string     `json:"stream"`
	Client clientInfo `json:"client"`
}

type restoreEnded struct {
	event
	Stream string     `json:"stream"`
	Start  time.Time  `json:"start"`
	End    time.Time  `json:"end"`
	Bytes  int64      `json:"bytes"`
	Client clientInfo `json:"client"`
}
