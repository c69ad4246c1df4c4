package consumer

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/consumer/store"
)

func TestCommitChecksEachOffset(t *testing.T) {
	l := newLab(t, quick())
	r := commit("g", "t", 0, 1)
	r.Offsets = append(r.Offsets,
		Committed{"missing", 0, Offset{}},
		Committed{"t", 4, Offset{}},
		Committed{"t", -1, Offset{}},
		Committed{"t", 1, Offset{Offset: -1}},
		Committed{"t", 2, Offset{Metadata: string(make([]byte, MaxMetadata+1))}},
		Committed{"t", 3, Offset{Metadata: string(make([]byte, MaxMetadata))}},
	)
	errs := result(t, l.Commit(r))
	want := []error{nil, ErrUnknownPartition, ErrUnknownPartition, ErrUnknownPartition, ErrInvalidOffset, ErrMetadataTooLarge, nil}
	for i := range want {
		if !errors.Is(errs[i], want[i]) {
			t.Errorf("offset %d: %v, want %v", i, errs[i], want[i])
		}
	}
	if list := l.Offsets("g"); len(list) != 2 {
		t.Errorf("saved: %v", list)
	}
}

func TestCommitOfWhoIsNoMember(t *testing.T) {
	l := newLab(t, quick())
	r := commit("g", "t", 0, 1)
	r.Generation, r.MemberID = 3, "x"
	if _, err := attempt(t, l.Commit(r)); !errors.Is(err, ErrNotFound) {
		t.Errorf("no group: %v", err)
	}
	if len(l.List()) != 0 {
		t.Errorf("a refused commit made a group: %v", l.List())
	}
	id := l.single("g")
	if _, err := attempt(t, l.Commit(commit("g", "t", 0, 1))); !errors.Is(err, ErrUnknownMember) {
		t.Errorf("from outside while there are members: %v", err)
	}
	if errs, err := l.Leave("g", []MemberRef{{MemberID: id}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	l.commit(commit("g", "t", 0, 1))
}

func TestOffsetsBelongToTheTopicNotToItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, quick())
		l.commit(commit("g", "t", 0, 5))
		l.commit(commit("g", "u", 0, 6))
		l.topics.set("t", 9, 4) // deleted and made again
		l.wantOffset("g", "t", -1)
		if list := l.Offsets("g"); len(list) != 1 || list[0].Topic != "u" {
			t.Errorf("offsets: %v", list)
		}
		time.Sleep(l.settings.SweepEach + time.Second)
		l.topics.set("t", 1, 4) // the id will not come back; if it did, the offset would still be gone
		l.wantOffset("g", "t", -1)
		l.wantOffset("g", "u", 6)
		l.killed().wantOffset("g", "t", -1)
	})
}

func TestOnlyUnusedOffsetsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quick()
		s.Retention, s.SweepEach = time.Minute, 10*time.Second
		l := newLab(t, s)
		used, left := l.single("used"), l.single("left")
		for group, id := range map[string]string{"used": used, "left": left} {
			r := commit(group, "t", 0, 5)
			r.MemberID, r.Generation = id, 1
			l.commit(r)
		}
		l.commit(commit("simple", "t", 0, 5))
		for range 30 { // left is in use for longer than the retention, and then is not
			time.Sleep(5 * time.Second)
			for group, id := range map[string]string{"used": used, "left": left} {
				if err := l.Heartbeat(group, MemberRef{MemberID: id}, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.wantOffset("simple", "t", -1)
		if _, err := l.Leave("left", []MemberRef{{MemberID: left}}); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			time.Sleep(5 * time.Second)
			if err := l.Heartbeat("used", MemberRef{MemberID: used}, 1); err != nil {
				t.Fatal(err)
			}
		}
		l.wantOffset("left", "t", 5)
		again := l.killed() // the moment of emptiness survives
		time.Sleep(40 * time.Second)
		again.wantOffset("left", "t", -1)
		again.wantOffset("used", "t", 5) // its member is gone there, but not for a minute
		l.wantOffset("left", "t", -1)
		var names []string
		for _, g := range l.List() {
			names = append(names, g.Group)
		}
		if fmt.Sprint(names) != "[used]" {
			t.Errorf("groups that are left: %v", names)
		}
	})
}

func TestCommitsShareATransaction(t *testing.T) {
	l := newLab(t, quick())
	started, release := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	ids := map[int]int{} // of transactions, to the changes in them
	count := func(tx *bbolt.Tx) error {
		mu.Lock()
		defer mu.Unlock()
		ids[tx.ID()]++
		return nil
	}
	l.store.Add(func(tx *bbolt.Tx) error { close(started); <-release; return nil }, nil)
	<-started
	var writes []*store.Write
	var order []int
	for i := range 100 {
		writes = append(writes, l.store.Add(count, func(error) { order = append(order, i) }))
	}
	close(release)
	for _, w := range writes {
		if err := w.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("100 changes took the transactions %v", ids)
	}
	for i, n := range order {
		if i != n {
			t.Fatalf("changes were applied in the order %v", order)
		}
	}
}

func TestStorageFailureIsToldAndHeals(t *testing.T) {
	l := newLab(t, quick())
	l.commit(commit("g", "t", 0, 1))
	broken := errors.New("broken")
	bad := l.store.Add(func(*bbolt.Tx) error { return broken }, nil)
	if err := bad.Wait(t.Context()); !errors.Is(err, ErrStorage) || !errors.Is(err, broken) {
		t.Errorf("failed change: %v", err)
	}
	l.wantOffset("g", "t", 1)
	l.commit(commit("g", "t", 0, 2))
	l.wantOffset("g", "t", 2)

	l.db.Close()
	if _, err := attempt(t, l.Commit(commit("g", "t", 0, 3))); !errors.Is(err, ErrStorage) {
		t.Errorf("commit without a file: %v", err)
	}
	l.wantOffset("g", "t", 2)
	j := result(t, l.Join(joining("h", "c", "")))
	if _, err := attempt(t, l.Sync(&SyncRequest{Group: "h", MemberID: j.MemberID, Generation: 1})); !errors.Is(err, ErrStorage) {
		t.Errorf("assignment without a file: %v", err)
	}
	l.stop()
	if _, err := attempt(t, l.Commit(commit("g", "t", 0, 4))); !errors.Is(err, ErrClosed) {
		t.Errorf("commit after the end: %v", err)
	}
}

func TestRunSavesWhatIsQueuedWhenItEnds(t *testing.T) {
	l := newLab(t, quick())
	var waits []Wait[[]error]
	for i := range 50 {
		waits = append(waits, l.Commit(commit("g", "t", 0, int64(i))))
	}
	path := l.db.Path()
	l.stop()
	for _, w := range waits {
		result(t, w)
	}
	openLab(t, path, l.settings, l.topics).wantOffset("g", "t", 49)
}
