package nats

import (
	"strings"
	"sync"
)

// transferPrefix is what the subjects of snapshots and restores begin with: $JS.SNAPSHOT.ACK.STREAM.ID.SIZE.NUMBER for the
// answer to a chunk of a snapshot, $JS.SNAPSHOT.RESTORE.STREAM.ID for a chunk to restore.
const transferPrefix = "$JS.SNAPSHOT."

// transfersLimit is how many snapshots and restores may run at a time.
const transfersLimit = 16

// transfers is the snapshots and restores that run.
type transfers struct {
	mu   sync.Mutex
	open map[string]func(*request) // guarded by mu; what takes a message of one, by its id
}

// begin makes room for one more, with messages for it going to take, which does not wait. False when there are too many.
func (t *transfers) begin(id string, take func(*request)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= transfersLimit {
		return false
	}
	if t.open == nil {
		t.open = make(map[string]func(*request))
	}
	t.open[id] = take
	return true
}

func (t *transfers) end(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

// take takes a message of a snapshot or restore; false when it is for none that runs.
func (t *transfers) take(r *request) bool {
	tokens := strings.SplitN(strings.TrimPrefix(r.subject, transferPrefix), ".", 4)
	if len(tokens) < 3 {
		return false
	}
	t.mu.Lock()
	f := t.open[tokens[2]]
	t.mu.Unlock()
	if f == nil {
		return false
	}
	f(r)
	return true
}
