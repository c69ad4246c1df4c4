package stream

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"brokerd/topic/subject"
)

// slow is an index that looks at everything.
type slow struct {
	list []slowEntry
}

type slowEntry struct {
	sequence uint64
	time     int64
	subject  string
	size     uint32
}

func (s *slow) pending(from uint64, filters []string) (first, n uint64) {
	for _, e := range s.list {
		if e.sequence >= from && (filters == nil || slices.ContainsFunc(filters, func(f string) bool { return subject.Match(f, e.subject) })) {
			if n++; n == 1 {
				first = e.sequence
			}
		}
	}
	return first, n
}

// Thousands of messages, with gaps, removals at random, in runs and from the front, and times that jump about, are found as
// a plain list finds them.
func TestIndexAgainstList(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		x, list := newIndex(), &slow{}
		subjects := []int{3, 50, 3000}[seed%3]
		sequence, time := uint64(rng.IntN(5000)), int64(0)
		for range 60 {
			switch rng.IntN(4) {
			case 0, 1:
				grow(rng, &x, list, subjects, &sequence, &time)
			case 2:
				thin(rng, &x, list)
			default:
				cutFront(rng, &x, list)
			}
			compareIndex(t, rng, &x, list, subjects)
		}
	}
}

func grow(rng *rand.Rand, x *index, list *slow, subjects int, sequence *uint64, time *int64) {
	for range rng.IntN(3000) {
		*sequence++
		switch rng.IntN(500) {
		case 0:
			*sequence += uint64(rng.IntN(200_000))
		case 1:
			*time += rng.Int64N(1<<33) - 1<<32
		case 2:
			*sequence += uint64(rng.IntN(10))
		}
		*time += rng.Int64N(3)
		name := "s." + strconv.Itoa(rng.IntN(subjects))
		size := uint32(rng.IntN(100))
		x.add(*sequence, *time, cell{subject: x.subjects.intern(name), size: size})
		list.list = append(list.list, slowEntry{*sequence, *time, name, size})
	}
}

// thin removes single messages, or whole runs, or most.
func thin(rng *rand.Rand, x *index, list *slow) {
	share := rng.IntN(100)
	from, to := rng.IntN(len(list.list)+1), rng.IntN(len(list.list)+1)
	list.list = slices.DeleteFunc(list.list, func(e slowEntry) bool {
		if i := int(e.sequence) % (len(list.list) + 1); i < from && i < to || rng.IntN(100) >= share {
			return false
		}
		x.remove(e.sequence)
		return true
	})
}

func cutFront(rng *rand.Rand, x *index, list *slow) {
	n := rng.IntN(len(list.list)/2 + 1)
	for _, e := range list.list[:n] {
		x.remove(e.sequence)
	}
	list.list = slices.Clone(list.list[n:])
}

func compareIndex(t *testing.T, rng *rand.Rand, x *index, list *slow, subjects int) {
	t.Helper()
	var bytes uint64
	newest := make(map[string]uint64)
	for _, e := range list.list {
		bytes += uint64(e.size)
		newest[e.subject] = e.sequence
	}
	if x.messages != uint64(len(list.list)) || x.bytes != bytes || x.subjects.stored != len(newest) || len(x.subjects.ids) != len(newest) {
		t.Fatalf("%d messages, %d bytes, %d subjects; want %d, %d, %d", x.messages, x.bytes, x.subjects.stored, len(list.list), bytes, len(newest))
	}
	if first, e, at := x.first(); len(list.list) > 0 {
		if want := list.list[0]; first != want.sequence || e.size != want.size || at != want.time {
			t.Fatalf("first %d, want %d", first, want.sequence)
		}
	} else if first != 0 {
		t.Fatalf("first %d of nothing", first)
	}
	for name, sequence := range newest {
		if got := x.subjects.list[x.subjects.ids[name]].last; got != sequence {
			t.Fatalf("last of %s: %d, want %d", name, got, sequence)
		}
	}
	name := "s." + strconv.Itoa(rng.IntN(subjects))
	for _, filters := range [][]string{nil, {name}, {"s.*"}, {name, "s.1"}, {"x"}} {
		from := uint64(0)
		if n := len(list.list); n > 0 {
			from = list.list[rng.IntN(n)].sequence + uint64(rng.IntN(3))
		}
		m, ok := x.subjects.matcher(filters)
		first, n := list.pending(from, filters)
		if !ok {
			if n > 0 {
				t.Fatalf("nothing matches %v", filters)
			}
			continue
		}
		if got := x.next(from, m); got != first {
			t.Fatalf("next %v from %d: %d, want %d", filters, from, got, first)
		}
		if got := x.pending(from, m); got != n {
			t.Fatalf("pending %v from %d: %d, want %d", filters, from, got, n)
		}
	}
	if id, ok := x.subjects.ids[name]; ok {
		mine, _ := list.pending(0, []string{name})
		if got := x.oldest(id); got != mine {
			t.Fatalf("oldest of %s: %d, want %d", name, got, mine)
		}
	}
	for _, e := range list.list[len(list.list)/2:] {
		got, at, ok := x.get(e.sequence)
		if !ok || at != e.time || got.size != e.size || x.subjects.list[got.subject].name != e.subject {
			t.Fatalf("get %d: %+v at %d, %v, want %+v", e.sequence, got, at, ok, e)
		}
	}
}
