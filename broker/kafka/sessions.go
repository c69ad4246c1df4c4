package kafka

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of what is remembered for all clients together. Who gets no session works without one: its requests name all of
// its partitions.
const (
	maxSessions      = 1000
	maxSessionWeight = 10_000  // of one session, in units of partKey.weight
	maxSessionsTotal = 100_000 // of all sessions
	// sessionPatience protects a session: idle for longer, or older than that and smaller than a new one, it may have to
	// give way.
	sessionPatience = 2 * time.Minute
)

// Session epochs of a request that is not part of a session.
const (
	epochNone = -1 // wants none
	epochOpen = 0  // wants a new one
)

// sessions are the open fetch sessions.
type sessions struct {
	mu     sync.Mutex
	open   map[int32]*slot // guarded by mu: by session id
	weight int             // guarded by mu: of all of them
}

// slot is an open session. Its session belongs to whoever holds it; all else is guarded by sessions.mu.
type slot struct {
	*session
	id            int32
	epoch         int32 // of the next request
	counted       int   // the session's weight as it is in sessions.weight
	created, used time.Time
	held          bool
}

func newSessions() *sessions { return &sessions{open: make(map[int32]*slot)} }

// keep opens a session for a client that has just had its first answer. It returns the id, or 0 if there is no room.
func (all *sessions) keep(s *session, now time.Time) (id int32) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(s.parts) == 0 || s.weight > maxSessionWeight || !all.makeRoom(s.weight, now) {
		return 0
	}
	for id == 0 || all.open[id] != nil {
		id = rand.Int32()
	}
	all.open[id] = &slot{session: s, id: id, epoch: epochOpen + 1, counted: s.weight, created: now, used: now}
	all.weight += s.weight
	return id
}

// hold returns the session that an incremental request continues. Its epoch is used up, whatever becomes of the request.
// The caller is alone with the session until it calls release.
func (all *sessions) hold(req *kmsg.FetchRequest) (*slot, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	held := all.open[req.SessionID]
	switch {
	case held == nil:
		return nil, faultf(codeFetchSessionIDNotFound, "there is no fetch session %d", req.SessionID)
	case held.held || req.SessionEpoch != held.epoch:
		return nil, faultf(codeInvalidFetchSessionEpoch, "fetch session %d is at epoch %d, not %d",
			req.SessionID, held.epoch, req.SessionEpoch)
	case held.byID != namesByID(req):
		return nil, faultf(codeFetchSessionTopicID, "fetch session %d names topics in another way", req.SessionID)
	}
	if held.held = true; held.epoch == math.MaxInt32 {
		held.epoch = epochOpen
	}
	held.epoch++
	return held, nil
}

// resize accounts for a held session whose partitions have changed. When it is empty, or has grown beyond the bounds, it
// is closed, and false returned.
func (all *sessions) resize(held *slot) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[held.id] != held {
		return true // it gave way meanwhile, which the next request will find
	}
	if held.weight == 0 || held.weight > maxSessionWeight || all.weight-held.counted+held.weight > maxSessionsTotal {
		all.remove(held)
		return false
	}
	all.weight += held.weight - held.counted
	held.counted = held.weight
	return true
}

// release gives a held session back.
func (all *sessions) release(held *slot, now time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	held.held, held.used = false, now
}

// drop closes a session, if it exists.
func (all *sessions) drop(id int32) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := all.open[id]; s != nil {
		all.remove(s)
	}
}

// count is the number of open sessions.
func (all *sessions) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.open)
}

// remove closes a session; all.mu is held.
func (all *sessions) remove(s *slot) {
	delete(all.open, s.id)
	all.weight -= s.counted
}

// makeRoom closes sessions until a new one of the given weight fits, as far as the rules allow it; all.mu is held.
func (all *sessions) makeRoom(weight int, now time.Time) bool {
	for len(all.open) >= maxSessions || all.weight+weight > maxSessionsTotal {
		idle := all.idlest()
		if idle == nil || now.Sub(idle.used) <= sessionPatience {
			break
		}
		all.remove(idle)
	}
	if len(all.open) >= maxSessions {
		small := all.smallest(now)
		if small == nil || small.counted > weight {
			return false
		}
		all.remove(small)
	}
	return all.weight+weight <= maxSessionsTotal
}

// idlest is the session that was not used for the longest time; all.mu is held.
func (all *sessions) idlest() (found *slot) {
	for _, s := range all.open {
		if !s.held && (found == nil || s.used.Before(found.used)) {
			found = s
		}
	}
	return found
}

// smallest is the smallest of the sessions that have had their time, the oldest one of equals; all.mu is held.
func (all *sessions) smallest(now time.Time) (found *slot) {
	for _, s := range all.open {
		if now.Sub(s.created) <= sessionPatience {
			continue
		}
		if found == nil || s.counted < found.counted || s.counted == found.counted && s.created.Before(found.created) {
			found = s
		}
	}
	return found
}
