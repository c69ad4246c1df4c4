package producer

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

func openDB(t *testing.T, path string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openIDs(t *testing.T, db *bbolt.DB) *IDs {
	t.Helper()
	ids, err := OpenIDs(db)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func nextID(t *testing.T, ids *IDs) int64 {
	t.Helper()
	id, err := ids.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIDsAreNeverGivenTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	db := openDB(t, path)
	ids := openIDs(t, db)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = make(map[int64]bool)
	)
	for range 8 {
		wg.Go(func() {
			for range 300 {
				id, err := ids.Next(context.Background())
				mu.Lock()
				if err != nil || seen[id] {
					t.Errorf("id %d, error %v, seen before: %v", id, err, seen[id])
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	// A process that dies forgets the rest of its block: the next one starts behind it.
	db.Close()
	ids = openIDs(t, openDB(t, path))
	if id := nextID(t, ids); id != 3000 {
		t.Errorf("first id after a restart is %d, want 3000: 2400 were used of three blocks", id)
	}
}

func TestTwoIDsOnOneDatabase(t *testing.T) {
	db := openDB(t, filepath.Join(t.TempDir(), "meta.db"))
	a, b := openIDs(t, db), openIDs(t, db)
	if x, y := nextID(t, a), nextID(t, b); x == y {
		t.Errorf("both gave out %d", x)
	}
}

func TestIDsErrors(t *testing.T) {
	db := openDB(t, filepath.Join(t.TempDir(), "meta.db"))
	ids := openIDs(t, db)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ids.turn.Acquire(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := ids.Next(ctx); err == nil {
		t.Error("a canceled caller got an id")
	}
	ids.turn.Release(1)

	for _, bad := range []string{"short", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(idBucket))
			if err != nil {
				return err
			}
			return b.Put([]byte(idKey), []byte(bad))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenIDs(db); err == nil {
			t.Errorf("OpenIDs took %q", bad)
		}
		if _, err := ids.Next(context.Background()); err == nil {
			t.Errorf("Next reserved behind %q", bad)
		}
	}
	db.Close()
	if _, err := ids.Next(context.Background()); err == nil {
		t.Error("an id from a closed database")
	}
}
