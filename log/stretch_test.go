package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// batchOf makes a batch of n small records at an offset.
func batchOf(t testing.TB, base int64, n int, value string) Batch {
	t.Helper()
	var b Builder
	for i := range n {
		b.Add(Record{Timestamp: 1000 + int64(i), Key: fmt.Appendf(nil, "k%d", i), Value: []byte(value)})
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	batch.setPlace(base, 0)
	return batch
}

// segmentOf joins batches and returns the position of each, and of the end.
func segmentOf(batches ...Batch) (data []byte, at []int64) {
	for _, b := range batches {
		at = append(at, int64(len(data)))
		data = append(data, b...)
	}
	return data, append(at, int64(len(data)))
}

// walked describes what a walk finds: "10-12" for a good batch, "!13-14@123+456" for damage.
func walked(t testing.TB, data []byte, min int64) string {
	t.Helper()
	var out []string
	pos := int64(0)
	err := newInspector(bytes.NewReader(data), int64(len(data))).walk(0, min, func(s stretch) error {
		if s.pos != pos || s.end <= s.pos {
			t.Errorf("stretch from %d to %d follows %d", s.pos, s.end, pos)
		}
		pos = s.end
		if d := s.damage; d != nil {
			if d.Reason == "" {
				t.Error("damage without a reason")
			}
			out = append(out, fmt.Sprintf("!%d-%d@%d+%d", d.First, d.Last, d.Position, d.Length))
			return nil
		}
		out = append(out, fmt.Sprintf("%d-%d", s.header.BaseOffset(), s.header.LastOffset()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func flipped(data []byte, bit int64) []byte {
	c := bytes.Clone(data)
	c[bit/8] ^= 1 << (bit % 8)
	return c
}

func fiveBatches(t testing.TB) ([]byte, []int64) {
	return segmentOf(batchOf(t, 10, 3, "one"), batchOf(t, 13, 1, "two"), batchOf(t, 14, 4, "three"),
		batchOf(t, 18, 1, "four"), batchOf(t, 19, 2, "five"))
}

// How much is read at once makes no difference.
func TestWalkBuffers(t *testing.T) {
	data, at := fiveBatches(t)
	data[at[1]+posLength+3]++ // makes it search
	data = append(data, make([]byte, 1000)...)
	for size := HeaderSize; size < 200; size++ {
		var got []string
		in := inspector{r: bytes.NewReader(data), end: int64(len(data)), buf: make([]byte, 0, size)}
		err := in.walk(0, 10, func(s stretch) error {
			got = append(got, fmt.Sprintf("%d+%d %v", s.pos, s.end-s.pos, s.damage != nil))
			return nil
		})
		want := fmt.Sprintf("[0+%d false %d+%d true %d+%d false %d+%d false %d+%d false]", at[1], at[1], at[2]-at[1],
			at[2], at[3]-at[2], at[3], at[4]-at[3], at[4], at[5]-at[4])
		if err != nil || fmt.Sprint(got) != want {
			t.Fatalf("%d bytes: found %v, %v, want %s", size, got, err, want)
		}
	}
}

func TestWalkGood(t *testing.T) {
	data, _ := fiveBatches(t)
	const want = "10-12 13-13 14-17 18-18 19-20"
	for _, c := range []struct {
		name string
		data []byte
		min  int64
		want string
	}{
		{"whole", data, 10, want},
		{"gap before the first", data, 7, want},
		{"zeros", append(bytes.Clone(data), make([]byte, 5000)...), 10, want},
		{"zeros beyond the window", append(bytes.Clone(data), make([]byte, 3*inspectWindow)...), 10, want},
		{"empty", nil, 10, ""},
		{"only zeros", make([]byte, 3*inspectWindow+5), 10, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := walked(t, c.data, c.min); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

// A flipped bit costs the batch that it is in and no other, wherever it is. The epoch alone is not protected.
func TestWalkEveryFlippedBit(t *testing.T) {
	data, at := fiveBatches(t)
	want := []string{"10-12", "13-13", "14-17", "18-18", "19-20"}
	for n := range want[:4] {
		damage := bytes.Clone([]byte("!" + want[n]))
		damage = fmt.Appendf(damage, "@%d+%d", at[n], at[n+1]-at[n])
		expect := strings.Join(append(append(append([]string(nil), want[:n]...), string(damage)), want[n+1:]...), " ")
		for bit := at[n] * 8; bit < at[n+1]*8; bit++ {
			if pos := bit/8 - at[n]; pos >= posLeaderEpoch && pos < posMagic {
				continue
			}
			if got := walked(t, flipped(data, bit), 10); got != expect {
				t.Fatalf("batch %d, byte %d, bit %d: found %s, want %s", n, bit/8-at[n], bit%8, got, expect)
			}
		}
	}
}

// Batches of one size, a power of two: a flipped length may lead exactly to a later batch.
func TestWalkWrongLengthToAnotherBatch(t *testing.T) {
	pad := ""
	for len(batchOf(t, 0, 1, pad)) < 256 {
		pad += "x"
	}
	var batches []Batch
	for n := range 8 {
		b := batchOf(t, int64(n), 1, pad)
		if len(b) != 256 {
			t.Fatalf("batch of %d bytes", len(b))
		}
		batches = append(batches, b)
	}
	data, _ := segmentOf(batches...)
	for _, blocks := range []uint32{2, 3, 4, 7} {
		c := bytes.Clone(data)
		binary.BigEndian.PutUint32(c[256+posLength:], 256*blocks-lengthPrefix)
		if got, want := walked(t, c, 0), "0-0 !1-1@256+256 2-2 3-3 4-4 5-5 6-6 7-7"; got != want {
			t.Errorf("%d blocks: found %s, want %s", blocks, got, want)
		}
	}
}

func TestWalkTruncatedAnywhere(t *testing.T) {
	data, at := fiveBatches(t)
	want := []string{"10-12", "13-13", "14-17", "18-18", "19-20"}
	for cut := range int64(len(data)) {
		n := 0
		for at[n+1] <= cut {
			n++
		}
		expect := strings.Join(want[:n], " ")
		got := walked(t, data[:cut], 10)
		padded := walked(t, append(bytes.Clone(data[:cut]), make([]byte, 1000)...), 10)
		if zeros(data[at[n]:cut]) { // nothing is left of the batch, or only zeros, which are no data
			if got != expect || padded != expect {
				t.Fatalf("cut at %d: found %s, padded %s, want %s", cut, got, padded, expect)
			}
			continue
		}
		claim := want[n]
		if cut-at[n] < HeaderSize {
			first := strings.Split(want[n], "-")[0]
			claim = first + "-" + first
		}
		torn := strings.TrimSpace(fmt.Sprintf("%s !%s@%d+%d", expect, claim, at[n],
			int64(len(bytes.TrimRight(data[:cut], "\x00")))-at[n]))
		if got != torn {
			t.Fatalf("cut at %d: found %s, want %s", cut, got, torn)
		}
		// The last bytes of the cut may be zero, and so may those that were cut off: then nothing is missing.
		if !strings.HasPrefix(padded, expect) {
			t.Fatalf("cut at %d, then zeros: found %s", cut, padded)
		}
	}
}

func TestWalkDamage(t *testing.T) {
	one, two, three, four := batchOf(t, 0, 2, "one"), batchOf(t, 2, 2, "two"), batchOf(t, 4, 2, "three"), batchOf(t, 6, 2, "four")
	data, at := segmentOf(one, two, three, four)
	noise := make([]byte, 700_000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	edit := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(data)) }
	setLength := func(n uint32) []byte {
		return edit(func(b []byte) []byte { binary.BigEndian.PutUint32(b[at[1]+posLength:], n); return b })
	}
	lost := fmt.Sprintf("0-1 !2-3@%d+%d 4-5 6-7", at[1], at[2]-at[1])

	// A record that holds a batch, as a mirror of a log would, with offsets that could be true.
	inner := batchOf(t, 3, 1, "inner")
	outer := batchOf(t, 2, 2, string(inner))
	nested, nat := segmentOf(one, outer, three, four)

	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"length 0", setLength(0), lost},
		{"length 48", setLength(48), lost},
		{"length -1", setLength(1<<32 - 1), lost},
		{"length 2^31-1", setLength(1<<31 - 1), lost},
		{"length of two batches", setLength(uint32(at[3] - at[1] - lengthPrefix)), lost},
		{"two damaged batches", edit(func(b []byte) []byte { b[at[1]+70] ^= 1; b[at[2]+70] ^= 1; return b }),
			fmt.Sprintf("0-1 !2-5@%d+%d 6-7", at[1], at[3]-at[1])},
		{"a good batch between two", edit(func(b []byte) []byte { b[70] ^= 1; b[at[2]+70] ^= 1; return b }),
			fmt.Sprintf("!0-1@0+%d 2-3 !4-5@%d+%d 6-7", at[1], at[2], at[3]-at[2])},
		{"zeros in the middle", edit(func(b []byte) []byte { clear(b[at[1]:at[2]]); return b }), lost},
		{"noise between batches", append(append(bytes.Clone(data[:at[1]]), noise...), data[at[1]:]...),
			fmt.Sprintf("0-1 !2-1@%d+%d 2-3 4-5 6-7", at[1], len(noise))},
		{"noise at the end", append(bytes.Clone(data), noise...),
			fmt.Sprintf("0-1 2-3 4-5 6-7 !8-8@%d+%d", at[4], len(noise))},
		{"a batch twice", append(bytes.Clone(data[:at[2]]), data[at[1]:]...),
			fmt.Sprintf("0-1 2-3 !4-3@%d+%d 4-5 6-7", at[2], at[2]-at[1])},
		{"a legal gap", append(bytes.Clone(data[:at[1]]), data[at[2]:]...), "0-1 4-5 6-7"},
		{"base offset beyond the next batch", edit(func(b []byte) []byte { b[at[1]+6] = 1; return b }), lost},
		{"base offset beyond the segment", edit(func(b []byte) []byte { b[at[1]] = 0x40; return b }), lost},
		{"nested batch, length damaged", edit(func([]byte) []byte {
			b := bytes.Clone(nested)
			binary.BigEndian.PutUint32(b[nat[1]+posLength:], 1<<30)
			return b
		}), fmt.Sprintf("0-1 !2-3@%d+%d 4-5 6-7", nat[1], nat[2]-nat[1])},
		{"nested batch, contents damaged", edit(func([]byte) []byte {
			b := bytes.Clone(nested)
			b[nat[1]+HeaderSize] ^= 1
			return b
		}), fmt.Sprintf("0-1 !2-3@%d+%d 4-5 6-7", nat[1], nat[2]-nat[1])},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := walked(t, c.data, 0); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

func TestWalkProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var batches []Batch
		next := int64(0)
		for range rapid.IntRange(1, 6).Draw(rt, "batches") {
			next += int64(rapid.IntRange(0, 2).Draw(rt, "gap"))
			n := rapid.IntRange(1, 3).Draw(rt, "records")
			batches = append(batches, batchOf(t, next, n, strings.Repeat("v", rapid.IntRange(0, 100).Draw(rt, "size"))))
			next += int64(n)
		}
		data, _ := segmentOf(batches...)
		for range rapid.IntRange(0, 8).Draw(rt, "edits") {
			data[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
		}
		checkWalk(rt, data, 0)
	})
}

// checkWalk fails unless a walk ends, covers the data without holes, lets offsets rise, and calls good only what is.
func checkWalk(t interface{ Fatalf(string, ...any) }, data []byte, low int64) {
	pos := int64(0)
	err := newInspector(bytes.NewReader(data), int64(len(data))).walk(0, low, func(s stretch) error {
		if s.pos != pos || s.end <= pos || s.end > int64(len(data)) || s.next < low {
			t.Fatalf("stretch %+v follows position %d, offset %d", s, pos, low)
		}
		if s.damage == nil {
			b, _, err := ParseBatch(data[s.pos:s.end])
			if err != nil || b.CheckCRC() != nil || b.BaseOffset() < low {
				t.Fatalf("bad batch at %d is said to be good", s.pos)
			}
		}
		pos, low = s.end, s.next
		return nil
	})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	if !zeros(data[pos:]) {
		t.Fatalf("the data after %d is passed over", pos)
	}
}

type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestWalkStopsOnErrors(t *testing.T) {
	stop := errors.New("stop")
	data, _ := fiveBatches(t)
	calls := 0
	err := newInspector(bytes.NewReader(data), int64(len(data))).walk(0, 10, func(stretch) error { calls++; return stop })
	if err != stop || calls != 1 {
		t.Errorf("%d calls, then %v", calls, err)
	}
	if err := newInspector(failingReader{stop}, 100).walk(0, 0, nil); !errors.Is(err, stop) {
		t.Errorf("a failing disk gives %v", err)
	}
	if err := newInspector(bytes.NewReader(nil), 100).walk(0, 0, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a shrunken file gives %v", err)
	}
}

// What a walk reads does not depend on what the lengths in the file claim.
func TestWalkCost(t *testing.T) {
	data, at := fiveBatches(t)
	data = append(data, bytes.Repeat([]byte("log line, as many a user keeps them\n"), 100_000)...)
	binary.BigEndian.PutUint32(data[at[2]+posLength:], 1<<31-1)
	r := &countingReader{r: bytes.NewReader(data)}
	if err := newInspector(r, int64(len(data))).walk(0, 10, func(stretch) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if limit := int64(4 * len(data)); r.n > limit {
		t.Errorf("%d bytes read of a file of %d", r.n, len(data))
	}
}

type countingReader struct {
	r io.ReaderAt
	n int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(b, off)
	c.n += int64(n)
	return n, err
}
