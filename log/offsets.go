package log

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

const (
	wordBits   = 64
	blockWords = 64
	blockBits  = wordBits * blockWords // offsets of a block
)

// offsetSet is a set of offsets, of one bit each where it has any. The zero offsetSet is empty.
type offsetSet struct {
	blocks []*offsetBlock // ordered by number; none is empty
	count  int64
}

// offsetBlock holds the offsets from number*blockBits on.
type offsetBlock struct {
	number int64
	words  [blockWords]uint64
}

// place returns where the block of that number is, or belongs.
func (s *offsetSet) place(number int64) (i int, found bool) {
	return slices.BinarySearchFunc(s.blocks, number, func(b *offsetBlock, n int64) int { return cmp.Compare(b.number, n) })
}

// add puts an offset into the set; false when it was there.
func (s *offsetSet) add(offset int64) bool {
	return s.or(offset/wordBits, 1<<(offset%wordBits)) > 0
}

// or adds the offsets whose bits are set in a word, the first of which is word*wordBits, and returns how many were new.
func (s *offsetSet) or(word int64, mask uint64) int {
	if mask == 0 {
		return 0
	}
	i, found := s.place(word / blockWords)
	if !found {
		s.blocks = slices.Insert(s.blocks, i, &offsetBlock{number: word / blockWords})
	}
	w := &s.blocks[i].words[word%blockWords]
	added := bits.OnesCount64(mask &^ *w)
	*w |= mask
	s.count += int64(added)
	return added
}

func (s *offsetSet) has(offset int64) bool {
	i, found := s.place(offset / blockBits)
	return found && s.blocks[i].words[offset/wordBits%blockWords]&(1<<(offset%wordBits)) != 0
}

// word is a part of the set: the offsets from first on whose bits are set.
type word struct {
	first int64 // a multiple of wordBits
	mask  uint64
}

// words iterates over what the set has in [from, to).
func (s *offsetSet) words(from, to int64) iter.Seq[word] {
	return func(yield func(word) bool) {
		i, _ := s.place(from / blockBits)
		for ; i < len(s.blocks) && s.blocks[i].number*blockBits < to; i++ {
			b := s.blocks[i]
			first := b.number * blockBits
			begin, end := max(from-first, 0)/wordBits, (min(to-first, blockBits)+wordBits-1)/wordBits
			for w := begin; w < end; w++ {
				part := word{first + w*wordBits, b.words[w]}
				part.mask &= within(part.first, from, to)
				if part.mask != 0 && !yield(part) {
					return
				}
			}
		}
	}
}

// within has the bits set of those offsets from first on that are in [from, to).
func within(first, from, to int64) uint64 {
	mask := ^uint64(0)
	if from > first {
		mask <<= from - first
	}
	if rest := to - first; rest < wordBits {
		mask &= 1<<rest - 1
	}
	return mask
}

// in counts the offsets in [from, to).
func (s *offsetSet) in(from, to int64) (n int64) {
	for w := range s.words(from, to) {
		n += int64(bits.OnesCount64(w.mask))
	}
	return n
}

// next is the first offset in [from, to); false when there is none.
func (s *offsetSet) next(from, to int64) (int64, bool) {
	for w := range s.words(from, to) {
		return w.first + int64(bits.TrailingZeros64(w.mask)), true
	}
	return 0, false
}

// absent is the first offset from on that is not in the set.
func (s *offsetSet) absent(from int64) int64 {
	for s.has(from) {
		i, _ := s.place(from / blockBits)
		w := s.blocks[i].words[from/wordBits%blockWords] >> (from % wordBits)
		from += min(int64(bits.TrailingZeros64(^w)), wordBits-from%wordBits)
	}
	return from
}

// all iterates over the offsets in [from, to), in order. The set must not change meanwhile.
func (s *offsetSet) all(from, to int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for w := range s.words(from, to) {
			for mask := w.mask; mask != 0; mask &= mask - 1 {
				if !yield(w.first + int64(bits.TrailingZeros64(mask))) {
					return
				}
			}
		}
	}
}

// part is a copy of what the set has in [from, to).
func (s *offsetSet) part(from, to int64) *offsetSet {
	var p offsetSet
	for w := range s.words(from, to) {
		p.or(w.first/wordBits, w.mask)
	}
	return &p
}

// merge adds all offsets of another set.
func (s *offsetSet) merge(other *offsetSet) {
	for _, b := range other.blocks {
		for i, mask := range b.words {
			s.or(b.number*blockWords+int64(i), mask)
		}
	}
}

// subtract removes all offsets of another set.
func (s *offsetSet) subtract(other *offsetSet) {
	for _, b := range other.blocks {
		if i, found := s.place(b.number); found {
			for w, mask := range b.words {
				s.clear(&s.blocks[i].words[w], mask)
			}
		}
	}
	s.prune(0, len(s.blocks))
}

// remove removes the offsets in [from, to).
func (s *offsetSet) remove(from, to int64) {
	i, _ := s.place(from / blockBits)
	j := i
	for ; j < len(s.blocks) && s.blocks[j].number*blockBits < to; j++ {
		b := s.blocks[j]
		for w := range b.words {
			if first := b.number*blockBits + int64(w)*wordBits; first < to && first+wordBits > from {
				s.clear(&b.words[w], within(first, from, to))
			}
		}
	}
	s.prune(i, j)
}

func (s *offsetSet) clear(w *uint64, mask uint64) {
	s.count -= int64(bits.OnesCount64(*w & mask))
	*w &^= mask
}

// prune lets go of those blocks from number i to before j of the list that have become empty.
func (s *offsetSet) prune(i, j int) {
	left := slices.DeleteFunc(s.blocks[i:j], func(b *offsetBlock) bool { return b.words == [blockWords]uint64{} })
	s.blocks = slices.Delete(s.blocks, i+len(left), j)
}
