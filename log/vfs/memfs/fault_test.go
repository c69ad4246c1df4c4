package memfs

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"
)

func TestFailedSyncForgets(t *testing.T) {
	seen := map[string]int{}
	m := New()
	for range 100 {
		f := must(m.Create("a"))
		put(f, 0, "old")
		done(m.SyncFS(""))
		put(f, 0, "new")
		m.Fail(Nth(Sync, "a", 1, syscall.EIO))
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Sync: %v", err)
		}
		if got := content(t, m, "a"); got != "new" {
			t.Fatalf("a reader sees %q", got)
		}
		check(t, f.Sync()) // lies, as Linux does
		seen[string(f.(*file).node.disk)]++
		check(t, f.Close())
		check(t, m.Remove("a"))
	}
	if seen["old"] == 0 || seen["new"] == 0 || len(seen) != 2 {
		t.Errorf("on the disk: %v", seen)
	}
}

func TestFaults(t *testing.T) {
	m := New()
	f := must(m.Create("d.log"))
	g := must(m.Create("d.index"))

	m.Fail(Nth(Write, "*.log", 2, syscall.EIO))
	put(g, 0, "1")
	put(g, 1, "2")
	put(f, 0, "1")
	if n, err := f.WriteAt([]byte("2"), 1); n != 0 || !errors.Is(err, syscall.EIO) {
		t.Errorf("second write: %d, %v", n, err)
	}
	put(f, 1, "2")

	m.Fail(From(Write, "*", 1, &ShortWrite{3, syscall.ENOSPC}))
	for range 2 {
		if n, err := f.WriteAt([]byte("abcde"), 2); n != 3 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("short write: %d, %v", n, err)
		}
	}
	if got := content(t, m, "d.log"); got != "12abc" {
		t.Errorf("content is %q", got)
	}

	var ops []Op
	m.Fail(func(op Op) error { ops = append(ops, op); return fs.ErrPermission })
	if err := m.Rename("d.log", "e.log"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("rename: %v", err)
	}
	if want := []Op{{Rename, "d.log", 1}}; !slices.Equal(ops, want) {
		t.Errorf("asked about %v, want %v", ops, want)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("close: %v", err)
	}
	m.Fail(nil)
	if open := m.OpenFiles(); !slices.Equal(open, []string{"d.index"}) {
		t.Errorf("open: %q", open)
	}
}

func TestLimit(t *testing.T) {
	m := New()
	f := must(m.Create("a"))
	g := must(m.Create("b"))
	m.Limit(100)
	check(t, f.Truncate(50))
	if err := g.Truncate(51); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Truncate: %v", err)
	}
	if n, err := g.WriteAt(bytes.Repeat([]byte("x"), 80), 0); n != 50 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write past the limit: %d, %v", n, err)
	}
	if n, err := g.WriteAt(make([]byte, 50), 0); n != 50 || err != nil {
		t.Errorf("write within the file: %d, %v", n, err)
	}
	free, total, err := m.Free("")
	if free != 0 || total != 100 || err != nil {
		t.Errorf("Free: %d of %d, %v", free, total, err)
	}
	check(t, m.Remove("a"))
	if free, _, _ := m.Free(""); free != 0 {
		t.Errorf("a file in use freed %d bytes", free)
	}
	check(t, f.Close())
	if free, _, _ := m.Free(""); free != 50 {
		t.Errorf("a removed file freed %d bytes", free)
	}
}
