package log

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOffsetSetIsASet compares an offsetSet with a map.
func TestOffsetSetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s offsetSet
		want := make(map[int64]bool)
		offset := rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(4000, 4200), rapid.Int64Range(1<<40, 1<<40+9000))
		bounds := func(t *rapid.T) (int64, int64) {
			a, b := offset.Draw(t, "from"), offset.Draw(t, "to")
			return min(a, b), max(a, b)
		}
		members := func(from, to int64) []int64 {
			list := slices.Sorted(maps.Keys(want))
			return slices.DeleteFunc(list, func(o int64) bool { return o < from || o >= to })
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				o := offset.Draw(t, "offset")
				if s.add(o) == want[o] {
					t.Fatalf("add %d says that it is new: %v", o, want[o])
				}
				want[o] = true
			},
			"add a run": func(t *rapid.T) {
				from := offset.Draw(t, "from")
				for o := from; o < from+rapid.Int64Range(0, 200).Draw(t, "length"); o++ {
					s.add(o)
					want[o] = true
				}
			},
			"remove": func(t *rapid.T) {
				from, to := bounds(t)
				s.remove(from, to)
				maps.DeleteFunc(want, func(o int64, _ bool) bool { return from <= o && o < to })
			},
			"subtract a part": func(t *rapid.T) {
				from, to := bounds(t)
				p := s.part(from, to)
				if !slices.Equal(slices.Collect(p.all(0, 1<<62)), members(from, to)) {
					t.Fatalf("the part from %d to %d differs", from, to)
				}
				if rapid.Bool().Draw(t, "keep") {
					s.merge(p)
					return
				}
				s.subtract(p)
				maps.DeleteFunc(want, func(o int64, _ bool) bool { return from <= o && o < to })
			},
			"": func(t *rapid.T) {
				from, to := bounds(t)
				list := members(from, to)
				if got := slices.Collect(s.all(from, to)); !slices.Equal(got, list) {
					t.Fatalf("from %d to %d: %v, want %v", from, to, got, list)
				}
				if n := s.in(from, to); n != int64(len(list)) || s.count != int64(len(want)) {
					t.Fatalf("from %d to %d: %d of %d, want %d of %d", from, to, n, s.count, len(list), len(want))
				}
				next, ok := s.next(from, to)
				if ok != (len(list) > 0) || ok && next != list[0] {
					t.Fatalf("next from %d to %d: %d, %v; want %v", from, to, next, ok, list)
				}
				absent := from
				for want[absent] {
					absent++
				}
				if got := s.absent(from); got != absent || s.has(from) != want[from] {
					t.Fatalf("absent from %d: %d, want %d", from, got, absent)
				}
				for i, b := range s.blocks {
					if b.words == [blockWords]uint64{} || i > 0 && s.blocks[i-1].number >= b.number {
						t.Fatalf("block %d is empty or out of order", i)
					}
				}
			},
		})
	})
}
