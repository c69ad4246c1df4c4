package nats

import "strings"

// domainless is the subject that a publication means: clients that name JetStream's domain say $JS.DOMAIN.API for $JS.API,
// and put that before the subjects of key-value and object stores as well.
func (i identity) domainless(subject string) string {
	if i.domain == "" || !strings.HasPrefix(subject, "$JS.") {
		return subject
	}
	rest, ok := strings.CutPrefix(subject[len("$JS."):], i.domain+".API.")
	switch {
	case !ok:
		return subject
	case strings.HasPrefix(rest, "$KV."), strings.HasPrefix(rest, "$O."), strings.HasPrefix(rest, "$OBJ."):
		return rest
	}
	return apiPrefix + rest
}

// services answer what is published to the broker itself.
type services struct {
	api    *api
	system *system
}

// forBroker says that messages with this subject are for services, besides those who listen.
func forBroker(subject string) bool {
	if len(subject) == 0 || subject[0] != '$' {
		return false
	}
	return strings.HasPrefix(subject, apiPrefix) || strings.HasPrefix(subject, ackPrefix) ||
		strings.HasPrefix(subject, flowPrefix) || strings.HasPrefix(subject, transferPrefix) ||
		strings.HasPrefix(subject, systemPrefix)
}

// take takes a message to the broker itself. It says whether somebody is there: if not, the client hears that nobody
// listens. It does not wait: most requests are answered after it returned, those of one connection one after another.
func (s *services) take(r *request) bool {
	switch {
	case strings.HasPrefix(r.subject, systemPrefix):
		return s.system.take(r)
	case s.api == nil:
		return false
	case strings.HasPrefix(r.subject, ackPrefix):
		s.api.ack(r)
		return true
	case strings.HasPrefix(r.subject, flowPrefix):
		s.api.consumers.FlowControl(r.subject)
		return true
	case strings.HasPrefix(r.subject, transferPrefix):
		return s.api.transfers.take(r)
	case strings.HasPrefix(r.subject, apiPrefix):
		return s.api.request(r)
	}
	return false
}
