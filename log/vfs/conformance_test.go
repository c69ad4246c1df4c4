package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
	"brokerd/log/vfs/ramfs"
)

// All file systems must behave alike: what a test plays in memory then says something about the disk.
var behaviours = []struct {
	name string
	run  func(t *testing.T, v vfs.FS, dir string)
}{
	{"create, write, read", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		defer closeFile(t, f)
		wantContent(t, f, "hello")
		n, err := f.WriteAt([]byte("J"), 0)
		wantErr(t, err, nil)
		if n != 1 {
			t.Errorf("WriteAt: %d bytes", n)
		}
		_, err = f.WriteAt([]byte("!"), 7)
		wantErr(t, err, nil)
		wantContent(t, f, "Jello\x00\x00!")
		wantErr(t, f.Sync(), nil)
	}},
	{"create refuses a taken name", func(t *testing.T, v vfs.FS, dir string) {
		closeFile(t, create(t, v, dir+"/a", ""))
		_, err := v.Create(dir + "/a")
		wantErr(t, err, fs.ErrExist)
		_, err = v.Create(dir)
		wantErr(t, err, fs.ErrExist)
	}},
	{"absent names", func(t *testing.T, v vfs.FS, dir string) {
		_, err := v.Create(dir + "/no/a")
		wantErr(t, err, fs.ErrNotExist)
		_, err = v.Open(dir + "/a")
		wantErr(t, err, fs.ErrNotExist)
		_, err = v.OpenRead(dir + "/a")
		wantErr(t, err, fs.ErrNotExist)
		_, err = v.List(dir + "/a")
		wantErr(t, err, fs.ErrNotExist)
		wantErr(t, v.Remove(dir+"/a"), fs.ErrNotExist)
		wantErr(t, v.Rename(dir+"/a", dir+"/b"), fs.ErrNotExist)
		wantErr(t, v.SyncDir(dir+"/a"), fs.ErrNotExist)
		wantErr(t, v.SyncFS(dir+"/a"), fs.ErrNotExist)
		wantErr(t, v.RemoveAll(dir+"/a"), nil)
		wantErr(t, v.RemoveAll(dir+"/no/a"), nil)
		_, _, err = v.Free(dir + "/a")
		wantErr(t, err, fs.ErrNotExist)
	}},
	{"a file is no directory", func(t *testing.T, v vfs.FS, dir string) {
		closeFile(t, create(t, v, dir+"/a", ""))
		wantErr(t, v.MkdirAll(dir+"/a"), syscall.ENOTDIR)
		_, err := v.Create(dir + "/a/b")
		wantErr(t, err, syscall.ENOTDIR)
		_, err = v.Open(dir)
		wantErr(t, err, syscall.EISDIR)
	}},
	{"set the time", func(t *testing.T, v vfs.FS, dir string) {
		closeFile(t, create(t, v, dir+"/a", ""))
		then := time.UnixMilli(1_600_000_000_123)
		wantErr(t, v.SetModTime(dir+"/a", then), nil)
		wantErr(t, v.SetModTime(dir+"/b", then), fs.ErrNotExist)
		entries, err := v.List(dir)
		wantErr(t, err, nil)
		if len(entries) != 1 || !entries[0].ModTime.Equal(then) {
			t.Errorf("%+v", entries)
		}
	}},
	{"read past the end", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		defer closeFile(t, f)
		n, err := f.ReadAt(make([]byte, 4), 3)
		if n != 2 || err != io.EOF {
			t.Errorf("across the end: %d, %v", n, err)
		}
		n, err = f.ReadAt(make([]byte, 4), 100)
		if n != 0 || err != io.EOF {
			t.Errorf("beyond the end: %d, %v", n, err)
		}
	}},
	{"negative positions", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		defer closeFile(t, f)
		for name, call := range map[string]func() error{
			"ReadAt":   func() error { _, err := f.ReadAt(make([]byte, 1), -1); return err },
			"WriteAt":  func() error { _, err := f.WriteAt(make([]byte, 1), -1); return err },
			"Truncate": func() error { return f.Truncate(-1) },
		} {
			if call() == nil {
				t.Errorf("%s takes -1", name)
			}
		}
	}},
	{"truncate", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		defer closeFile(t, f)
		wantErr(t, f.Truncate(2), nil)
		wantContent(t, f, "he")
		wantErr(t, f.Truncate(4), nil)
		wantContent(t, f, "he\x00\x00")
	}},
	{"read-only handle", func(t *testing.T, v vfs.FS, dir string) {
		closeFile(t, create(t, v, dir+"/a", "hello"))
		f, err := v.OpenRead(dir + "/a")
		wantErr(t, err, nil)
		defer closeFile(t, f)
		wantContent(t, f, "hello")
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Error("WriteAt works")
		}
		if err := f.Truncate(0); err == nil {
			t.Error("Truncate works")
		}
		wantContent(t, f, "hello")
	}},
	{"closed handle", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		closeFile(t, f)
		_, err := f.ReadAt(make([]byte, 1), 0)
		wantErr(t, err, fs.ErrClosed)
		_, err = f.WriteAt(make([]byte, 1), 0)
		wantErr(t, err, fs.ErrClosed)
		_, err = f.Size()
		wantErr(t, err, fs.ErrClosed)
		wantErr(t, f.Truncate(0), fs.ErrClosed)
		wantErr(t, f.Sync(), fs.ErrClosed)
		wantErr(t, f.Close(), fs.ErrClosed)
	}},
	{"rename replaces", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "new")
		defer closeFile(t, f)
		closeFile(t, create(t, v, dir+"/b", "old"))
		wantErr(t, v.Rename(dir+"/a", dir+"/b"), nil)
		wantList(t, v, dir, "b")
		wantErr(t, v.Rename(dir+"/b", dir+"/b"), nil)
		g, err := v.Open(dir + "/b")
		wantErr(t, err, nil)
		defer closeFile(t, g)
		wantContent(t, g, "new")
		_, err = f.WriteAt([]byte("N"), 0) // the old handle is the same file
		wantErr(t, err, nil)
		wantContent(t, g, "New")
	}},
	{"rename a directory", func(t *testing.T, v vfs.FS, dir string) {
		wantErr(t, v.MkdirAll(dir+"/d/e"), nil)
		wantErr(t, v.MkdirAll(dir+"/full/x"), nil)
		closeFile(t, create(t, v, dir+"/d/e/f", "x"))
		closeFile(t, create(t, v, dir+"/file", ""))
		wantErr(t, v.Rename(dir+"/d", dir+"/full"), fs.ErrExist)
		wantErr(t, v.Rename(dir+"/d", dir+"/file"), syscall.ENOTDIR)
		wantErr(t, v.Rename(dir+"/file", dir+"/d"), fs.ErrExist)
		wantErr(t, v.Rename(dir+"/d", dir+"/g"), nil)
		wantList(t, v, dir+"/g/e", "f")
	}},
	{"remove", func(t *testing.T, v vfs.FS, dir string) {
		f := create(t, v, dir+"/a", "hello")
		defer closeFile(t, f)
		wantErr(t, v.Remove(dir+"/a"), nil)
		wantList(t, v, dir)
		wantContent(t, f, "hello") // an open file lives on
		wantErr(t, v.MkdirAll(dir+"/d/e"), nil)
		wantErr(t, v.Remove(dir+"/d"), syscall.ENOTEMPTY)
		wantErr(t, v.Remove(dir+"/d/e"), nil)
		wantErr(t, v.Remove(dir+"/d"), nil)
		wantList(t, v, dir)
	}},
	{"remove a tree", func(t *testing.T, v vfs.FS, dir string) {
		wantErr(t, v.MkdirAll(dir+"/d/e"), nil)
		closeFile(t, create(t, v, dir+"/d/e/f", "x"))
		closeFile(t, create(t, v, dir+"/d/g", "x"))
		closeFile(t, create(t, v, dir+"/h", "x"))
		wantErr(t, v.RemoveAll(dir+"/d"), nil)
		wantErr(t, v.RemoveAll(dir+"/h"), nil)
		wantList(t, v, dir)
	}},
	{"list", func(t *testing.T, v vfs.FS, dir string) {
		before := time.Now().Add(-time.Minute)
		closeFile(t, create(t, v, dir+"/b", "hello"))
		closeFile(t, create(t, v, dir+"/a", ""))
		wantErr(t, v.MkdirAll(dir+"/c"), nil)
		wantErr(t, v.MkdirAll(dir+"/c"), nil)
		wantErr(t, v.SyncDir(dir), nil)
		wantErr(t, v.SyncFS(dir), nil)
		f, err := v.Open(dir + "/b")
		wantErr(t, err, nil)
		wantErr(t, f.SyncFS(), nil)
		closeFile(t, f)
		wantList(t, v, dir, "a", "b", "c")
		entries, err := v.List(dir)
		wantErr(t, err, nil)
		b, c := entries[1], entries[2]
		if b.Size != 5 || b.Dir || !c.Dir || b.ModTime.Before(before) {
			t.Errorf("entries: %+v", entries)
		}
	}},
	{"lock", func(t *testing.T, v vfs.FS, dir string) {
		l, err := v.Lock(dir + "/lock")
		wantErr(t, err, nil)
		_, err = v.Lock(dir + "/lock")
		wantErr(t, err, vfs.ErrLocked)
		wantErr(t, l.Close(), nil)
		wantErr(t, l.Close(), fs.ErrClosed)
		l, err = v.Lock(dir + "/lock")
		wantErr(t, err, nil)
		wantErr(t, l.Close(), nil)
		_, err = v.Lock(dir + "/no/lock")
		wantErr(t, err, fs.ErrNotExist)
	}},
	{"free", func(t *testing.T, v vfs.FS, dir string) {
		free, total, err := v.Free(dir)
		wantErr(t, err, nil)
		if free <= 0 || total < free {
			t.Errorf("%d of %d bytes are free", free, total)
		}
	}},
}

func TestConformance(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name+"/os", func(t *testing.T) {
			b.run(t, vfs.OS{}, t.TempDir())
		})
		t.Run(b.name+"/ramfs", func(t *testing.T) {
			m := ramfs.New(1 << 20)
			wantErr(t, m.MkdirAll("/x/y"), nil)
			b.run(t, m, "/x/y")
		})
		t.Run(b.name+"/memfs", func(t *testing.T) {
			m := memfs.New()
			wantErr(t, m.MkdirAll("/x/y"), nil)
			b.run(t, m, "/x/y")
			if open := m.OpenFiles(); len(open) > 0 {
				t.Errorf("left open: %q", open)
			}
		})
	}
}

func TestOSFilesHaveDescriptors(t *testing.T) {
	f := create(t, vfs.OS{}, path.Join(t.TempDir(), "a"), "")
	defer closeFile(t, f)
	if _, ok := f.(vfs.FD); !ok {
		t.Error("vfs.FD is missing")
	}
}

func TestLockNamesItsOwner(t *testing.T) {
	name := path.Join(t.TempDir(), "lock")
	l, err := vfs.OS{}.Lock(name)
	wantErr(t, err, nil)
	defer l.Close()
	_, err = vfs.OS{}.Lock(name)
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), "by process") {
		t.Errorf("second lock: %v", err)
	}
}

func create(t *testing.T, v vfs.FS, name, content string) vfs.File {
	t.Helper()
	f, err := v.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func closeFile(t *testing.T, f vfs.File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if (want == nil && got != nil) || !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

func wantContent(t *testing.T, f vfs.File, want string) {
	t.Helper()
	size, err := f.Size()
	wantErr(t, err, nil)
	got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	wantErr(t, err, nil)
	if string(got) != want || size != int64(len(want)) {
		t.Errorf("content is %q (%d bytes), want %q", got, size, want)
	}
}

func wantList(t *testing.T, v vfs.FS, dir string, want ...string) {
	t.Helper()
	entries, err := v.List(dir)
	wantErr(t, err, nil)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}
