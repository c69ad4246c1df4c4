package stream

import "time"

const (
	idOverhead = 64       // bytes that an id costs beside its text
	idMemory   = 64 << 20 // bytes for the ids of one stream
)

// ids remembers the Nats-Msg-Id of recent messages, for the length of the duplicate window, the newest ones that fit into
// idMemory.
type ids struct {
	sequences map[string]uint64
	order     []idAt // by age; an id that was stored again stands there twice
	bytes     int
}

type idAt struct {
	id       string
	sequence uint64
	time     int64
}

// add remembers that id was stored.
func (d *ids) add(id string, sequence uint64, time int64) {
	if d.sequences == nil {
		d.sequences = make(map[string]uint64)
	}
	d.sequences[id] = sequence
	d.order = append(d.order, idAt{id, sequence, time})
	d.bytes += len(id) + idOverhead
	for d.bytes > idMemory {
		d.shift()
	}
}

// prune forgets what was stored longer ago than window.
func (d *ids) prune(now int64, window time.Duration) {
	for len(d.order) > 0 && d.order[0].time < now-window.Milliseconds() {
		d.shift()
	}
}

// find returns the sequence under which id was stored, no longer ago than window.
func (d *ids) find(id string, now int64, window time.Duration) (uint64, bool) {
	d.prune(now, window)
	sequence, ok := d.sequences[id]
	return sequence, ok
}

// shift forgets the oldest id.
func (d *ids) shift() {
	first := d.order[0]
	d.order[0] = idAt{}
	d.order = d.order[1:]
	d.bytes -= len(first.id) + idOverhead
	d.remove(first.id, first.sequence)
	if len(d.order) == 0 {
		*d = ids{} // gives back the map's memory as well
	}
}

// remove forgets an id, if it was last stored under sequence.
func (d *ids) remove(id string, sequence uint64) {
	if d.sequences[id] == sequence {
		delete(d.sequences, id)
	}
}
