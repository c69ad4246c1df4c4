package log

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"brokerd/log/vfs/memfs"
)

// FuzzOpen opens a log of which two segments, an index and the checkpoint hold anything. Whatever they hold:
//
//   - Open refuses a newer format, or opens;
//   - every offset is either read or reported, in steps that end;
//   - what is appended then is read, also after the next Open, and is given no offset that was read before.
func FuzzOpen(f *testing.F) {
	for _, clean := range []bool{true, false} {
		in := aLog(f, clean)
		f.Add(in[0], in[1], in[2], in[3], in[4])
	}
	f.Fuzz(openAnything)
}

// aLog returns the files of a log of ten batches, five in each segment: both segments, an index that fits both, and
// the checkpoint.
func aLog(t testing.TB, clean bool) (files [5][]byte) {
	t.Helper()
	b := timedBatch(t, 2, 1000, 50)
	for i := range int64(10) {
		b.setPlace(i*2, 0)
		files[i/5] = append(files[i/5], b...)
	}
	c := checkpoint{epochs: []epochStart{{}}, segment: 10, position: int64(len(b)), next: 12}
	if clean {
		c.clean, c.position, c.next = true, int64(len(files[1])), 20
	}
	x := index{offsets: []offsetEntry{{last: 5, pos: int32(2 * len(b))}}, times: []timeEntry{{time: 1001, last: 1}}}
	files[2], files[3], files[4] = x.encodeOffsets(), x.encodeTimes(), c.encode()
	return files
}

// TestOpenMutated is the fuzz target with faults of the kinds that disks make. The number of a failed round repeats it.
func TestOpenMutated(t *testing.T) {
	for round := range uint64(3000) {
		rng := rand.New(rand.NewPCG(round, 0))
		files := aLog(t, round%2 == 0)
		for range rng.IntN(5) {
			b := &files[rng.IntN(len(files))]
			if len(*b) == 0 {
				continue
			}
			at := rng.IntN(len(*b))
			switch rng.IntN(4) {
			case 0:
				(*b)[at] ^= 1 << rng.IntN(8)
			case 1:
				*b = (*b)[:at]
			case 2:
				clear((*b)[at:min(len(*b), at+rng.IntN(600))])
			case 3:
				*b = append(*b, (*b)[at:]...)
			}
		}
		if openAnything(t, files[0], files[1], files[2], files[3], files[4]); t.Failed() {
			t.Fatal("round", round)
		}
	}
}

func openAnything(t *testing.T, first, second, offsets, times, cp []byte) {
	if n := len(cp) - 4; n >= 0 { // let what the CRC protects be anything, too
		binary.BigEndian.PutUint32(cp[n:], crc32.Checksum(cp[:n], castagnoli))
	}
	fs := memfs.New()
	if err := fs.MkdirAll("t/p"); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"00000000000000000000.log": first, "00000000000000000000.index": offsets, "00000000000000000000.timeindex": times,
		"00000000000000000010.log": second, "00000000000000000010.index": offsets, "00000000000000000010.timeindex": times,
		"checkpoint": cp,
	} {
		writeFile(t, fs, "t/p/"+name, b)
	}
	o := Options{FS: fs, Dir: "t/p", Committer: NewCommitter(CommitterOptions{}), Files: NewFiles(10), Config: smallConfig()}
	l, _, err := Open(o)
	if errors.Is(err, ErrNewerFormat) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	end := readEverything(t, l, 0)
	a, err := l.Append(timedBatch(t, 2, 1000, 50))
	if err != nil || a.Base < end {
		t.Fatalf("appended at %d, read up to %d, %v", a.Base, end, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, _, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if got := readEverything(t, l, a.Base); got != a.Last+1 {
		t.Fatalf("read up to %d, want %d", got, a.Last+1)
	}
}

// readEverything reads from offset on and returns the offset behind the last batch.
func readEverything(t *testing.T, l *Log, offset int64) (end int64) {
	for offset = max(offset, l.Bounds().Start); ; {
		r, err := l.Read(offset, 1000)
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			if corrupt.Last < offset {
				t.Fatalf("read %d: %v", offset, corrupt)
			}
			offset = corrupt.Last + 1
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Length == 0 {
			return end
		}
		if r.Next <= offset {
			t.Fatalf("read %d: next is %d", offset, r.Next)
		}
		offset, end = r.Next, r.Next
		r.Close()
	}
}
