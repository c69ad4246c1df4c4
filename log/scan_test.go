package log

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

func writeFile(t testing.TB, v vfs.FS, name string, data []byte) {
	t.Helper()
	file, err := v.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func segmentFile(base int64) string { return fmt.Sprintf("%020d.log", base) }

// scanned describes what a scan finds, one line each.
func scanned(t testing.TB, v *memfs.FS, name string) string {
	t.Helper()
	var out strings.Builder
	err := Scan(v, name, func(f Found) error {
		segment := strings.TrimLeft(f.Segment, "0")
		if d := f.Damage; d != nil {
			if d.Segment != f.Segment || d.Position != f.Position || f.Batch != nil {
				t.Errorf("found %+v, damage %+v", f, d)
			}
			fmt.Fprintf(&out, "%s %d: damage, %d bytes, offsets %d to %d: %s\n", segment, f.Position, d.Length, d.First, d.Last, d.Reason)
			return nil
		}
		if err := f.Batch.CheckCRC(); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&out, "%s %d: %d to %d\n", segment, f.Position, f.Batch.BaseOffset(), f.Batch.LastOffset())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if open := v.OpenFiles(); len(open) > 0 {
		t.Errorf("left open: %q", open)
	}
	return out.String()
}

// twoSegments makes a log of batches 5-6, 7, 8-9 in one segment and 10-11, 12 in the next.
func twoSegments(t testing.TB, edit func(first, second []byte) ([]byte, []byte)) *memfs.FS {
	first, _ := segmentOf(batchOf(t, 5, 2, "a"), batchOf(t, 7, 1, "b"), batchOf(t, 8, 2, "c"))
	second, _ := segmentOf(batchOf(t, 10, 2, "d"), batchOf(t, 12, 1, "e"))
	if edit != nil {
		first, second = edit(first, second)
	}
	v := memfs.New()
	if err := v.MkdirAll("log"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, v, "log/"+segmentFile(5), first)
	writeFile(t, v, "log/"+segmentFile(10), second)
	writeFile(t, v, "log/00000000000000000005.index", []byte("not read"))
	writeFile(t, v, "log/notes.log", []byte("not read"))
	return v
}

func TestScan(t *testing.T) {
	const first = "5.log 0: 5 to 6\n5.log 81: 7 to 7\n5.log 152: 8 to 9\n"
	const second = "10.log 0: 10 to 11\n10.log 81: 12 to 12\n"
	for _, c := range []struct {
		name string
		path string
		edit func(first, second []byte) ([]byte, []byte)
		want string
	}{
		{"whole log", "log", nil, first + second},
		{"one segment", "log/" + segmentFile(10), nil, second},
		{"zeros", "log", func(a, b []byte) ([]byte, []byte) {
			return append(a, make([]byte, 99)...), append(b, make([]byte, 999)...)
		},
			first + second},
		{"empty segments", "log", func(a, b []byte) ([]byte, []byte) { return nil, make([]byte, 100) }, ""},
		{"bad contents", "log", func(a, b []byte) ([]byte, []byte) { a[90+HeaderSize] ^= 1; return a, b },
			"5.log 0: 5 to 6\n5.log 81: damage, 71 bytes, offsets 7 to 7: checksum CRC\n5.log 152: 8 to 9\n" + second},
		{"bad end of a sealed segment", "log", func(a, b []byte) ([]byte, []byte) { return a[:200], b },
			"5.log 0: 5 to 6\n5.log 81: 7 to 7\n5.log 152: damage, 48 bytes, offsets 8 to 9: header is cut off\n" + second},
		{"torn tail", "log", func(a, b []byte) ([]byte, []byte) { return a, b[:150] },
			first + "10.log 0: 10 to 11\n10.log 81: damage, 69 bytes, offsets 12 to 12: torn tail: length 71, 69 bytes are here\n"},
		{"segment behind its name", "log", func(a, b []byte) ([]byte, []byte) { return a, a },
			first + "10.log 0: damage, 232 bytes, offsets 10 to 10: torn tail: base offset 5, want 10 or a little more\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := scanned(t, twoSegments(t, c.edit), c.path)
			if at := strings.Index(got, "checksum "); at >= 0 { // its figures are no part of the promise
				end := at + strings.Index(got[at:], "\n")
				got = got[:at] + "checksum CRC" + got[end:]
			}
			if got != c.want {
				t.Errorf("found\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestScanErrors(t *testing.T) {
	v := twoSegments(t, nil)
	stop := errors.New("stop")
	none := func(Found) error { return nil }
	if err := Scan(v, "log", func(Found) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("f's error becomes %v", err)
	}
	if err := Scan(v, "nothing", none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent directory gives %v", err)
	}
	if err := Scan(v, "log/notes.log", none); err == nil {
		t.Error("a file with another name is taken")
	}
	v.Fail(memfs.Nth(memfs.Read, "*.log", 2, stop))
	if err := Scan(v, "log", none); !errors.Is(err, stop) {
		t.Errorf("a failing disk gives %v", err)
	}
	v.Fail(nil)
	if open := v.OpenFiles(); len(open) > 0 {
		t.Errorf("left open: %q", open)
	}
}

func TestSegmentNames(t *testing.T) {
	for name, want := range map[string]int64{
		"00000000000000000000.log":    0,
		"00000000004294967296.log":    1 << 32,
		"00000000000000000000.index":  -1,
		"0000000000000000000.log":     -1,
		"000000000000000000000.log":   -1,
		"-0000000000000000001.log":    -1,
		"+0000000000000000001.log":    -1,
		"0000000000000000000x.log":    -1,
		"99999999999999999999.log":    -1,
		"09223372036854775807.log":    -1,
		"00000000000000000000.log.gz": -1,
	} {
		base, ok := segmentBase(name)
		if ok != (want >= 0) || (ok && base != want) {
			t.Errorf("%s: %d, %v", name, base, ok)
		}
		if ok && segmentFile(base) != name {
			t.Errorf("%s becomes %s", name, segmentFile(base))
		}
	}
}

func TestScanReadsWhatBuilderWrote(t *testing.T) {
	v := memfs.New()
	var data []byte
	for _, c := range codecs {
		b := build(t, &Builder{Codec: c}, awkward...)
		b.setPlace(int64(len(awkward))*int64(c), 0)
		data = append(data, b...)
	}
	writeFile(t, v, segmentFile(0), data)
	n := 0
	err := Scan(v, "", func(f Found) error {
		n += len(all(t, f.Batch))
		return nil
	})
	if err != nil || n != len(codecs)*len(awkward) {
		t.Errorf("%d records, %v", n, err)
	}
}
