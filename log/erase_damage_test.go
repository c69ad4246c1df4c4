package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brokerd/log/vfs/memfs"
)

func TestEraseWhenTheDiskIsFull(t *testing.T) {
	for _, tryAgain := range []bool{false, true} {
		t.Run(fmt.Sprint("again ", tryAgain), func(t *testing.T) { eraseWhenTheDiskIsFull(t, tryAgain) })
	}
}

func eraseWhenTheDiskIsFull(t *testing.T, tryAgain bool) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.put(1, "a=1", "b=2", "c=3")
	b.commit()
	b.erase(0)
	fs.Fail(memfs.From(memfs.Write, erasedName, 1, &memfs.ShortWrite{N: 7, Err: syscall.ENOSPC}))
	if err := b.Erase([]int64{1}, true); !errors.Is(err, ErrNoSpace) {
		t.Errorf("a full disk: %v", err)
	}
	b.wantOffsets("not durable", 2)
	fs.Fail(nil)
	if tryAgain {
		if err := b.Erase([]int64{1}, true); err != nil {
			t.Fatal(err)
		}
		b.reopen(fs.Crash(nil))
		b.wantOffsets("tried again", 2)
		return
	}
	b.reopen(fs.Kill())
	if b.CutBytes == 0 || len(b.ErasedDamaged) > 0 {
		t.Errorf("recovered %+v", b.Recovery)
	}
	b.wantOffsets("an unfinished entry", 1, 2)
}

func TestEraseFailsTheLogWithTheDisk(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.put(1, "a=1", "b=2", "c=3")
	b.commit()
	b.erase(0)
	fs.Fail(memfs.From(memfs.Sync, erasedName, 1, syscall.EIO))
	if err := b.Erase([]int64{1}, true); !errors.Is(err, ErrFailed) || b.Err() == nil {
		t.Errorf("a failed sync: %v, %v", err, b.Err())
	}
	if err := b.Erase([]int64{2}, false); !errors.Is(err, ErrFailed) {
		t.Errorf("after it: %v", err)
	}
}

// TestDamagedErasures spoils the list in several ways: what is in it no more can be read, everything else is as before.
func TestDamagedErasures(t *testing.T) {
	tests := []struct {
		name   string
		change func(b []byte) []byte
		damage int
		want   []int64
	}{
		{"untouched", func(b []byte) []byte { return b }, 0, []int64{2}},
		{"a header", func(b []byte) []byte { b[5] ^= 1; return b }, 1, []int64{2}},
		{"the first entry", func(b []byte) []byte { b[erasedHeader+22] ^= 1; return b }, 1, []int64{0, 2}},
		{"the mark of the first", func(b []byte) []byte { b[erasedHeader] ^= 1; return b }, 1, []int64{0, 2}},
		{"the last entry", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, 1, []int64{1, 2}},
		{"a cut end", func(b []byte) []byte { return b[:len(b)-3] }, 1, []int64{1, 2}},
		{"a few bytes", func(b []byte) []byte { return b[:5] }, 1, []int64{0, 1, 2}},
		{"zeros", zero, 1, []int64{0, 1, 2}},
		{"rubbish", func(b []byte) []byte { return []byte(strings.Repeat("brke", 100)) }, 2, []int64{0, 1, 2}},
		{"too many offsets", func(b []byte) []byte {
			var s offsetSet
			s.add(3)
			s.add(1 << 40)
			return appendErasures(b, &s)
		}, 0, []int64{2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs)
			b.put(1, "a=1", "b=2", "c=3")
			b.commit()
			b.erase(0)
			b.erase(1)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, fs, path.Join(b.o.Dir, erasedName), tt.change)
			b.reopen(fs)
			if len(b.ErasedDamaged) != tt.damage || len(b.Recovery.Damaged) > 0 {
				t.Errorf("damage %v and %v, want %d", b.ErasedDamaged, b.Recovery.Damaged, tt.damage)
			}
			b.wantOffsets("damaged", tt.want...)
			b.put(1, "d=4") // at an offset that a bad list may name
			b.commit()
			b.erase(2)
			want := append(slices.DeleteFunc(slices.Clone(tt.want), func(o int64) bool { return o == 2 }), 3)
			b.wantOffsets("one more", want...)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b.reopen(fs)
			if len(b.ErasedDamaged) > 0 {
				t.Errorf("still damaged: %v", b.ErasedDamaged)
			}
			b.wantOffsets("opened again", want...)
		})
	}
}

func TestNewerErasuresAreRefused(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.put(1, "a=1")
	b.commit()
	b.erase(0)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, fs, path.Join(b.o.Dir, erasedName), func(b []byte) []byte {
		b[5] = 2
		binary.BigEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
		return b
	})
	if _, _, err := Open(b.o); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("opened: %v", err)
	}
}
