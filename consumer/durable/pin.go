package durable

import "time"

// pin is the one client of a priority group that gets everything, with priority_policy pinned_client.
type pin struct {
	id    string // "" for none
	at    time.Time
	until time.Time // without a request of this client
}

func (p *pin) expired(now time.Time) bool { return p.id != "" && !now.Before(p.until) }

func (m *machine) pinned() bool { return m.config.PriorityPolicy == PriorityPinned }

// pinTo makes the client that sent r the pinned one.
func (m *machine) pinTo(r *request, now time.Time) {
	m.pin = pin{id: m.newID(), at: now, until: now.Add(m.config.PinnedTTL)}
	r.ID = m.pin.id
	m.advisePinned(now)
}

// unpin lets the next request decide who is pinned.
func (m *machine) unpin(reason string, now time.Time) {
	if m.pin.id == "" {
		return
	}
	m.pin = pin{}
	m.adviseUnpinned(reason, now)
}
