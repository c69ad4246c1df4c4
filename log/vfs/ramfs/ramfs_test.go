package ramfs

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// TestFileHoldsWhatWasWritten compares a file of several chunks with a slice.
func TestFileHoldsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := New(1 << 30)
		file, err := f.Create("a")
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		at := rapid.Custom(func(t *rapid.T) int {
			return rapid.IntRange(0, 2).Draw(t, "chunk")*chunkSize + rapid.IntRange(0, 40).Draw(t, "byte")
		})
		resize := func(size int) {
			want = append(want, make([]byte, max(size-len(want), 0))...)[:size]
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				from := at.Draw(t, "at")
				b := bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, at.Draw(t, "length"))
				if n, err := file.WriteAt(b, int64(from)); n != len(b) || err != nil {
					t.Fatal(n, err)
				}
				resize(max(len(want), from+len(b)))
				copy(want[from:], b)
			},
			"truncate": func(t *rapid.T) {
				size := at.Draw(t, "size")
				if err := file.Truncate(int64(size)); err != nil {
					t.Fatal(err)
				}
				resize(size)
			},
			"": func(t *rapid.T) {
				got := make([]byte, len(want))
				if n, err := file.ReadAt(got, 0); n != len(want) || err != nil {
					t.Fatal(n, err)
				}
				if size, err := file.Size(); size != int64(len(want)) || err != nil || f.used.Load() != size {
					t.Fatalf("%d bytes, %d used, want %d, %v", size, f.used.Load(), len(want), err)
				}
				if !bytes.Equal(got, want) {
					t.Fatal("contents differ")
				}
			},
		})
	})
}

func TestLimit(t *testing.T) {
	f := New(1000)
	if err := f.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	a, err := f.Create("d/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteAt(make([]byte, 1000), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteAt([]byte{1}, 1000); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("above the limit: %v", err)
	}
	if size, err := a.Size(); size != 1000 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
	if _, err := a.WriteAt([]byte{1}, 500); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if err := f.RemoveAll("d"); err != nil {
		t.Fatal(err)
	}
	if used := f.used.Load(); used != 1000 {
		t.Errorf("an open file: %d bytes are used", used)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if used := f.used.Load(); used != 0 {
		t.Errorf("a file that is gone: %d bytes are used", used)
	}
}
