package topic

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs"
)

// TestOnTheRealFileSystem makes, fills, reopens and deletes a topic where users will.
func TestOnTheRealFileSystem(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	committer := log.NewCommitter(log.CommitterOptions{})
	done := make(chan struct{})
	go func() { committer.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	open := func() *Registry {
		t.Helper()
		r, err := Open(ctx, Options{
			DB: db, FS: vfs.OS{}, Dir: dir, Committer: committer, Files: log.NewFiles(16), Logger: zerolog.Nop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	made, err := r.Create(Spec{Name: "a", Partitions: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range made.Partitions() {
		at, err := p.Append(sequenced(t, 1, 0, 0, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.WaitDurable(ctx, at.Last); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open()
	again, _ := r.Get("a")
	for _, p := range again.Partitions() {
		if at, err := p.Append(sequenced(t, 1, 0, 0, "x")); err != nil || !at.Duplicate {
			t.Errorf("partition %d: %+v, %v", p.Index(), at, err)
		}
	}
	if err := r.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.dir(made.ID())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
