package stream

import (
	"math"
	"slices"
	"sort"
)

const (
	chunkEntries = 1024    // in one chunk, at most
	chunkSpan    = 1 << 16 // sequences that a chunk may cover
)

// cell is what the index knows of one message: 12 bytes.
type cell struct {
	subject uint32 // its id; 0 when the message is gone
	size    uint32 // in bytes, below flags
	after   int32  // milliseconds after the chunk's time; may be negative for records of Kafka clients
}

// Flags of entry.size.
const (
	flagTTL    = 1 << 31 // the message has a time to live
	flagNever  = 1 << 30 // its time to live is for ever, whatever max_age says
	flagMarker = 1 << 29 // it marks a deletion: no marker follows it
	sizeMask   = flagMarker - 1
)

func (e cell) bytes() uint64 { return uint64(e.size & sizeMask) }

// chunk is a run of entries with rising sequences. While it has no gaps, the place of an entry is its sequence; a chunk with
// gaps, or one that has lost most of its messages, keeps the places beside the entries.
type chunk struct {
	base    uint64 // sequence of place 0
	time    int64  // milliseconds, of the first message
	newest  int64  // the largest time of any
	live    int    // entries that are not gone
	dead    int    // entries at the front that are gone
	entries []cell
	places  []uint16 // of the entries; nil when entry i has place i
	tallies []tally  // of a chunk that gets no more entries, once somebody asked; ordered by subject
}

// tally is the number of a subject's messages in a chunk.
type tally struct{ subject, n uint32 }

// takes says whether an entry with this sequence and time fits.
func (c *chunk) takes(sequence uint64, time int64) bool {
	after := time - c.time
	return len(c.entries) < chunkEntries && sequence-c.base < chunkSpan && after >= math.MinInt32 && after <= math.MaxInt32
}

func (c *chunk) add(sequence uint64, e cell) {
	place := sequence - c.base
	if c.places == nil && place != uint64(len(c.entries)) {
		c.spread()
	}
	if c.places != nil {
		c.places = append(c.places, uint16(place))
	}
	c.entries = append(c.entries, e)
	c.newest = max(c.newest, c.time+int64(e.after))
	c.live++
	c.tallies = nil
}

// spread drops the entries that are gone, and keeps the places of the others.
func (c *chunk) spread() {
	kept, places := make([]cell, 0, c.live), make([]uint16, 0, c.live)
	for i, e := range c.entries {
		if e.subject != 0 {
			kept = append(kept, e)
			places = append(places, uint16(c.sequence(i)-c.base))
		}
	}
	c.entries, c.places, c.dead = kept, places, 0
}

// sequence of entry i.
func (c *chunk) sequence(i int) uint64 {
	if c.places != nil {
		return c.base + uint64(c.places[i])
	}
	return c.base + uint64(i)
}

// find returns the first entry with at least this sequence; it may be gone, and there may be none.
func (c *chunk) find(sequence uint64) int {
	switch {
	case sequence <= c.base:
		return 0
	case c.places == nil:
		return int(min(sequence-c.base, uint64(len(c.entries))))
	}
	place := sequence - c.base
	return sort.Search(len(c.places), func(i int) bool { return uint64(c.places[i]) >= place })
}

// at returns the entry with exactly this sequence, -1 when there is none.
func (c *chunk) at(sequence uint64) int {
	i := c.find(sequence)
	if i == len(c.entries) || c.sequence(i) != sequence || c.entries[i].subject == 0 {
		return -1
	}
	return i
}

// remove takes entry i out. The chunk must be dropped when it has no live ones any more.
func (c *chunk) remove(i int) {
	if t, ok := c.tallied(c.entries[i].subject); ok {
		c.tallies[t].n--
	}
	c.entries[i].subject = 0
	c.live--
	for c.dead < len(c.entries) && c.entries[c.dead].subject == 0 {
		c.dead++
	}
	if c.live > 0 && c.live < len(c.entries)/4 {
		c.spread()
	}
}

// tallied finds a subject in the tallies.
func (c *chunk) tallied(id uint32) (int, bool) {
	return slices.BinarySearchFunc(c.tallies, id, func(t tally, id uint32) int {
		if t.subject < id {
			return -1
		}
		if t.subject > id {
			return 1
		}
		return 0
	})
}

// count makes the tallies.
func (c *chunk) count() {
	ids := make([]uint32, 0, c.live)
	for _, e := range c.entries {
		if e.subject != 0 {
			ids = append(ids, e.subject)
		}
	}
	slices.Sort(ids)
	tallies := make([]tally, 0, 8)
	for _, id := range ids {
		if n := len(tallies); n > 0 && tallies[n-1].subject == id {
			tallies[n-1].n++
		} else {
			tallies = append(tallies, tally{id, 1})
		}
	}
	c.tallies = slices.Clip(tallies)
}
