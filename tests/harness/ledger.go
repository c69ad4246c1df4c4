package harness

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Position is where a record is stored.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Ledger remembers each acknowledged record: its position and a checksum of its content.
type Ledger struct {
	mu    sync.Mutex
	acked map[Position]uint32 // guarded by mu
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{acked: map[Position]uint32{}} }

// Ack enters an acknowledged record. An error means that its offset was given out twice.
func (l *Ledger) Ack(r *kgo.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := Position{r.Topic, r.Partition, r.Offset}
	if _, twice := l.acked[at]; twice {
		return fmt.Errorf("harness: two records were acknowledged at %v", at)
	}
	l.acked[at] = Sum(r)
	return nil
}

// Len is the number of acknowledged records.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// Offsets are the acknowledged offsets of one partition, in order.
func (l *Ledger) Offsets(topic string, partition int32) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var offsets []int64
	for at := range l.acked {
		if at.Topic == topic && at.Partition == partition {
			offsets = append(offsets, at.Offset)
		}
	}
	slices.Sort(offsets)
	return offsets
}

// Clone is an independent copy.
func (l *Ledger) Clone() *Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Ledger{acked: maps.Clone(l.acked)}
}

// Forget removes positions whose loss a test has provoked.
func (l *Ledger) Forget(lost func(Position) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.acked {
		if lost(at) {
			delete(l.acked, at)
		}
	}
}

// Check compares the ledger with what was read back and returns one line for each fault, at most limit of them: an
// acknowledged record that is missing or differs, and an offset that was read twice.
func (l *Ledger) Check(read []*kgo.Record, limit int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []string
	note := func(format string, args ...any) {
		if len(faults) < limit {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	seen := make(map[Position]bool, len(read))
	for _, r := range read {
		at := Position{r.Topic, r.Partition, r.Offset}
		if seen[at] {
			note("%v was read twice", at)
		}
		seen[at] = true
		if want, ok := l.acked[at]; ok && want != Sum(r) {
			note("%v differs from what was acknowledged there: key %q", at, r.Key)
		}
	}
	for at := range l.acked {
		if !seen[at] {
			note("%v was acknowledged and is missing", at)
		}
	}
	return faults
}

// Duplicates returns one line for each content that stands at more than one offset, at most limit of them. It is only
// of use when every record was made different.
func Duplicates(read []*kgo.Record, limit int) []string {
	var faults []string
	first := make(map[string]Position, len(read))
	for _, r := range read {
		at := Position{r.Topic, r.Partition, r.Offset}
		if other, twice := first[string(r.Value)]; twice && len(faults) < limit {
			faults = append(faults, fmt.Sprintf("%v and %v are the same record, %.60q", other, at, r.Value))
		}
		first[string(r.Value)] = at
	}
	return faults
}

// Sum is a checksum of a record's key, value, headers and time.
func Sum(r *kgo.Record) uint32 {
	h := crc32.NewIEEE()
	field := func(b []byte) {
		n := int64(len(b))
		if b == nil {
			n = -1
		}
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
		h.Write(b)
	}
	field(r.Key)
	field(r.Value)
	for _, header := range r.Headers {
		field([]byte(header.Key))
		field(header.Value)
	}
	field(binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp.UnixMilli())))
	return h.Sum32()
}
