package broker

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brokerd/log/vfs"
)

func TestDataDirIsTakenOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	first, err := openDataDir(vfs.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openDataDir(vfs.OS{}, dir)
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v, want ErrInUse", err)
	}
	for _, part := range []string{dir, "process " + strconv.Itoa(os.Getpid()), "--data"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDataDir(vfs.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
}

func TestDataDirRefusals(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		is                  error  // nil for any
		says                string // part of the message
	}{
		{"newer format", formatFile, "brokerd data format 2\n", ErrNewerFormat, "has format 2, this brokerd knows up to 1"},
		{"far newer format", formatFile, "brokerd data format 999999\nmore\n", ErrNewerFormat, "Run the newer brokerd"},
		{"other program's file", formatFile, "PG_VERSION 16\n", nil, "is no data format"},
		{"empty format", formatFile, "", nil, "is no data format"},
		{"negative format", formatFile, "brokerd data format -1\n", nil, "is no data format"},
		{"long format", formatFile, strings.Repeat("x", 10_000), nil, "is no data format"},
		{"damaged metadata", metaFile, strings.Repeat("not a database ", 4096), nil, "restore it from a backup"},
		{"short metadata", metaFile, "x", nil, "restore it from a backup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, c.file)
			if err := os.WriteFile(name, []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a refusal leaves the directory free, and as it was
				_, err := openDataDir(vfs.OS{}, dir)
				if err == nil {
					t.Fatal("the directory was taken")
				}
				if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %q", err)
				}
			}
			if b, err := os.ReadFile(name); err != nil || string(b) != c.content {
				t.Errorf("%s was changed (%v)", c.file, err)
			}
		})
	}
}

func TestIdentityIsKept(t *testing.T) {
	dir := t.TempDir()
	var ids [2]Identity
	for i := range ids {
		d, err := openDataDir(vfs.OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if ids[i], err = loadIdentity(d.db); err != nil {
			t.Fatal(err)
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] != ids[1] || len(ids[0].ClusterID) != 22 || ids[0].NodeID != firstNodeID {
		t.Errorf("got %+v, then %+v", ids[0], ids[1])
	}
	other := t.TempDir()
	d, err := openDataDir(vfs.OS{}, other)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if id, err := loadIdentity(d.db); err != nil || id.ClusterID == ids[0].ClusterID {
		t.Errorf("a new directory has identity %+v (%v)", id, err)
	}
}
