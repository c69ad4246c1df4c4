package log

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"brokerd/log/vfs/memfs"
)

// FuzzOpen opens a log of which two segments, an index and the checkpoint hold anything. Whatever they hold:
//
//   - Open refuses a newer format, or opens;
//   - every offset is either read or reported, in steps that end;
//   - what is appended then is read, also after the next Open, and is given no offset that was read before.
func FuzzOpen(f *testing.F) {
	b := timedBatch(f, 2, 1000, 50)
	var first, second []byte
	for base := range int64(5) {
		b.setPlace(base*2, 0)
		first = append(first, b...)
		b.setPlace(10+base*2, 0)
		second = append(second, b...)
	}
	c := checkpoint{epochs: []epochStart{{}}, segment: 10, position: 200, next: 12}
	x := index{offsets: []offsetEntry{{5, 350}}, times: []timeEntry{{1001, 1}}}
	f.Add(first, second, x.encodeOffsets(), x.encodeTimes(), c.encode())
	c.clean, c.position, c.next = true, int64(len(second)), 20
	f.Add(first, second, []byte{}, x.encodeTimes(), c.encode())
	f.Add(first[:400], second[:400], make([]byte, 80), []byte{1}, []byte{})
	f.Fuzz(openAnything)
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
