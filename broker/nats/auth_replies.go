package nats

import (
	"sync"
	"time"
)

const (
	// replyWithin is how long a service may take to answer a request, if it may publish nothing but answers.
	replyWithin = 2 * time.Minute
	// repliesLimit is how many answers one connection may owe. More are forgotten, the oldest or any.
	repliesLimit = 4096
)

// replies is the subjects that a client may publish one message to each, because it was asked for it (User.Respond).
type replies struct {
	mu    sync.Mutex
	until map[string]time.Time // guarded by mu
}

// allow lets the client answer.
func (r *replies) allow(subject []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	if len(r.until) >= repliesLimit {
		r.forget(now)
	}
	r.until[string(subject)] = now.Add(replyWithin)
}

// forget makes room.
func (r *replies) forget(now time.Time) {
	for s, until := range r.until {
		if until.Before(now) {
			delete(r.until, s)
		}
	}
	for s := range r.until {
		if len(r.until) < repliesLimit {
			return
		}
		delete(r.until, s)
	}
}

// use says that the client may answer, which it may no longer do then.
func (r *replies) use(subject []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[string(subject)]
	delete(r.until, string(subject))
	return ok && time.Now().Before(until)
}
