package consumer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"brokerd/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// catalog is the topics of a test: one partition count for all, and an id by name.
type catalog struct {
	mu  sync.Mutex
	ids map[string]topic.ID
}

func (c *catalog) lookup(name string) (topic.ID, int32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.ids[name]
	return id, 4, ok
}

func (c *catalog) set(name string, id byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = map[string]topic.ID{}
	}
	delete(c.ids, name)
	if id != 0 {
		c.ids[name] = topic.ID{id}
	}
}

// lab is Groups on a real file.
type lab struct {
	*Groups
	t      *testing.T
	db     *bbolt.DB
	topics *catalog
	stop   func()
}

func newLab(t *testing.T, s Settings) *lab {
	c := &catalog{}
	c.set("t", 1)
	c.set("u", 2)
	return openLab(t, filepath.Join(t.TempDir(), "meta.db"), s, c)
}

func openLab(t *testing.T, path string, s Settings, c *catalog) *lab {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Open(Options{DB: db, Topics: c.lookup, Settings: s, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	l := &lab{Groups: g, t: t, db: db, topics: c}
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		db.Close()
	})
	t.Cleanup(l.stop)
	return l
}

// killed opens what is on disk now, as after a kill -9; l goes on to its own end.
func (l *lab) killed() *lab {
	l.t.Helper()
	b, err := os.ReadFile(l.db.Path())
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.t.TempDir(), "meta.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return openLab(l.t, path, l.settings, l.topics)
}

func quick() Settings {
	s := DefaultSettings()
	s.InitialDelay = 0
	return s
}

// result waits for an answer that has to come.
func result[T any](t *testing.T, w Wait[T]) T {
	t.Helper()
	v, err := attempt(t, w)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func attempt[T any](t *testing.T, w Wait[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	return w(ctx)
}

func joining(group, client, id string) *JoinRequest {
	return &JoinRequest{
		Group: group, ClientID: client, MemberID: id, Host: "/127.0.0.1", ProtocolType: "consumer",
		Protocols:      []Protocol{{"range", subscription("t")}},
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
	}
}

// subscription is what a Kafka consumer says when it subscribes to one topic.
func subscription(name string) []byte {
	return append([]byte{0, 1, 0, 0, 0, 1, 0, byte(len(name))}, name...)
}

// single makes a stable group of one member and returns its id.
func (l *lab) single(group string) string {
	l.t.Helper()
	j := result(l.t, l.Join(joining(group, "c", "")))
	s := result(l.t, l.Sync(&SyncRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation,
		Assignments: map[string][]byte{j.MemberID: []byte("all")}}))
	if string(s.Assignment) != "all" {
		l.t.Fatalf("assignment is %q", s.Assignment)
	}
	return j.MemberID
}

func commit(group, topic string, partition int32, offset int64) *CommitRequest {
	return &CommitRequest{Group: group, Generation: -1,
		Offsets: []Committed{{topic, partition, Offset{Offset: offset, LeaderEpoch: 3, Metadata: "note"}}}}
}

func (l *lab) commit(r *CommitRequest) {
	l.t.Helper()
	for _, err := range result(l.t, l.Commit(r)) {
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) wantOffset(group, topic string, want int64) {
	l.t.Helper()
	o, ok := l.Committed(group, topic, 0)
	if !ok {
		o.Offset = -1
	}
	if o.Offset != want {
		l.t.Errorf("%s, %s: offset is %d, want %d", group, topic, o.Offset, want)
	}
}

func TestKilledBrokerKeepsWhatItAnswered(t *testing.T) {
	l := newLab(t, quick())
	id := l.single("g")
	r := commit("g", "t", 0, 42)
	r.MemberID, r.Generation = id, 1
	l.commit(r)
	l.commit(commit("simple", "u", 0, 7))
	result(t, l.Delete([]string{"simple"}))
	l.commit(commit("other", "u", 0, 8))

	again := l.killed()
	if err := again.Heartbeat("g", MemberRef{MemberID: id}, 1); err != nil {
		t.Errorf("heartbeat after the restart: %v", err)
	}
	if s := result(t, again.Sync(&SyncRequest{Group: "g", MemberID: id, Generation: 1})); string(s.Assignment) != "all" {
		t.Errorf("assignment after the restart is %q", s.Assignment)
	}
	o, ok := again.Committed("g", "t", 0)
	if want := l.Offsets("g")[0].Offset; !ok || o != want || o.Metadata != "note" || o.LeaderEpoch != 3 {
		t.Errorf("offset after the restart is %+v, want %+v", o, want)
	}
	again.wantOffset("simple", "u", -1)
	again.wantOffset("other", "u", 8)
	if _, err := again.Describe("simple"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted group came back: %v", err)
	}
	before, _ := l.Describe("g")
	after, _ := again.Describe("g")
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the group is described as\n%+v, was\n%+v", after, before)
	}
	// A client that commits with an old generation stays fenced.
	r.Generation = 0
	if _, err := attempt(t, again.Commit(r)); !errors.Is(err, ErrIllegalGeneration) {
		t.Errorf("old generation: %v", err)
	}
}

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

func TestRequestsAreBounded(t *testing.T) {
	l := newLab(t, quick())
	long := string(make([]byte, MaxGroupID+1))
	for name, c := range map[string]struct {
		change func(*JoinRequest)
		want   error
	}{
		"no group":      {func(r *JoinRequest) { r.Group = "" }, ErrInvalidGroupID},
		"long group":    {func(r *JoinRequest) { r.Group = long }, ErrInvalidGroupID},
		"short session": {func(r *JoinRequest) { r.SessionTimeout = time.Second }, ErrInvalidSessionTimeout},
		"long session":  {func(r *JoinRequest) { r.SessionTimeout = time.Hour }, ErrInvalidSessionTimeout},
		"no type":       {func(r *JoinRequest) { r.ProtocolType = "" }, ErrInconsistentProtocol},
		"no protocol":   {func(r *JoinRequest) { r.Protocols = nil }, ErrInconsistentProtocol},
		"unknown id":    {func(r *JoinRequest) { r.MemberID = "x" }, ErrUnknownMember},
		"large": {func(r *JoinRequest) {
			r.Protocols = []Protocol{{"range", make([]byte, MaxSubscription+1)}}
		}, ErrTooLarge},
		"many": {func(r *JoinRequest) { r.Protocols = make([]Protocol, MaxProtocols+1) }, ErrTooLarge},
	} {
		r := joining("g", "c", "")
		c.change(r)
		if _, err := attempt(t, l.Join(r)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if list := l.List(); len(list) != 0 {
		t.Errorf("refused joins made groups: %v", list)
	}
	if _, err := l.Leave("", nil); !errors.Is(err, ErrInvalidGroupID) {
		t.Errorf("leave: %v", err)
	}
	if err := l.Heartbeat("", MemberRef{}, 0); !errors.Is(err, ErrInvalidGroupID) {
		t.Errorf("heartbeat: %v", err)
	}
	if _, err := Open(Options{DB: l.db, Settings: Settings{}}); err == nil {
		t.Error("settings of zero were accepted")
	}
}

func TestOffsetsBelongToTheTopicNotToItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, quick())
		l.commit(commit("g", "t", 0, 5))
		l.commit(commit("g", "u", 0, 6))
		l.topics.set("t", 9) // deleted and made again
		l.wantOffset("g", "t", -1)
		if list := l.Offsets("g"); len(list) != 1 || list[0].Topic != "u" {
			t.Errorf("offsets: %v", list)
		}
		time.Sleep(l.settings.SweepEach + time.Second)
		l.topics.set("t", 1) // the id will not come back; if it did, the offset would still be gone
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

func TestSessionsEndByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, quick())
		a := l.single("g")
		rejoin := l.Join(joining("g", "b", ""))
		start := time.Now()
		j := result(t, rejoin) // a sends nothing
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("the second member was let in after %v, the first one's session is 10s", d)
		}
		if j.Generation != 2 || j.Leader != j.MemberID {
			t.Errorf("joined: %+v", j)
		}
		if err := l.Heartbeat("g", MemberRef{MemberID: a}, 1); !errors.Is(err, ErrUnknownMember) {
			t.Errorf("heartbeat of the expired member: %v", err)
		}
	})
}

func TestIDsThatNobodyUsesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, quick())
		for i := range 100 {
			r := joining(fmt.Sprint("g", i), "c", "")
			r.RequireMemberID = true
			if j, err := attempt(t, l.Join(r)); !errors.Is(err, ErrMemberIDRequired) || j.MemberID == "" {
				t.Fatalf("%+v, %v", j, err)
			}
		}
		if n := len(l.List()); n != 100 {
			t.Errorf("%d groups", n)
		}
		time.Sleep(11 * time.Second)
		if list := l.List(); len(list) != 0 {
			t.Errorf("groups that never had members are left: %v", list)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	l := newLab(t, DefaultSettings())
	ctx, cancel := context.WithCancel(t.Context())
	wait := l.Join(joining("g", "c", ""))
	cancel()
	if _, err := wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	e := l.lock("g")
	defer e.mu.Unlock()
	if len(e.parked) != 0 {
		t.Errorf("%d requests stay parked", len(e.parked))
	}
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
	l.store.add(func(tx *bbolt.Tx) error { close(started); <-release; return nil }, nil)
	<-started
	var writes []*write
	var order []int
	for i := range 100 {
		writes = append(writes, l.store.add(count, func(error) { order = append(order, i) }))
	}
	close(release)
	for _, w := range writes {
		if err := w.wait(t.Context()); err != nil {
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
	bad := l.store.add(func(*bbolt.Tx) error { return broken }, nil)
	if err := bad.wait(t.Context()); !errors.Is(err, ErrStorage) || !errors.Is(err, broken) {
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

func TestDamagedRecordsAreLeftOut(t *testing.T) {
	l := newLab(t, quick())
	l.single("g")
	l.single("h")
	l.commit(commit("simple", "t", 0, 1))
	l.commit(commit("simple", "u", 0, 2))
	err := l.db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(
			tx.Bucket(groupsBucket).Put([]byte("g"), []byte{recordVersion, 1, 2, 3}),
			tx.Bucket(offsetsBucket).Put(offsetKey("simple", "t", 0), []byte{99}),
			tx.Bucket(offsetsBucket).Put([]byte{200}, []byte{99}))
	})
	if err != nil {
		t.Fatal(err)
	}
	again := l.killed()
	if _, err := again.Describe("g"); !errors.Is(err, ErrNotFound) {
		t.Errorf("damaged group: %v", err)
	}
	if d, err := again.Describe("h"); err != nil || d.State != Stable {
		t.Errorf("the other group: %+v, %v", d, err)
	}
	again.wantOffset("simple", "t", -1)
	again.wantOffset("simple", "u", 2)
}

func TestAdministration(t *testing.T) {
	l := newLab(t, quick())
	id := l.single("g")
	r := commit("g", "t", 0, 5)
	r.MemberID, r.Generation = id, 1
	r.Offsets = append(r.Offsets, Committed{"u", 0, Offset{Offset: 6}})
	l.commit(r)
	l.commit(commit("simple", "t", 0, 5))

	want := "[{g consumer Stable} {simple  Empty}]"
	if got := fmt.Sprint(l.List()); got != want {
		t.Errorf("list is %s, want %s", got, want)
	}
	d, err := l.Describe("g")
	if err != nil || d.Protocol != "range" || len(d.Members) != 1 || string(d.Members[0].Assignment) != "all" ||
		d.Members[0].ClientID != "c" || d.Members[0].Host != "/127.0.0.1" {
		t.Errorf("described as %+v, %v", d, err)
	}
	errs := result(t, l.Delete([]string{"g", "simple", "simple", "none"}))
	for i, want := range []error{ErrNonEmpty, nil, ErrNotFound, ErrNotFound} {
		if !errors.Is(errs[i], want) {
			t.Errorf("delete %d: %v, want %v", i, errs[i], want)
		}
	}
	errs = result(t, l.DeleteOffsets("g", []TopicPartition{{"t", 0}, {"u", 0}, {"u", 1}}))
	for i, want := range []error{ErrSubscribed, nil, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("delete offset %d: %v, want %v", i, errs[i], want)
		}
	}
	l.wantOffset("g", "t", 5)
	l.wantOffset("g", "u", -1)
	if _, err := attempt(t, l.DeleteOffsets("none", nil)); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete offsets of no group: %v", err)
	}
	groups := 0
	for group, list := range l.AllOffsets() {
		groups++
		if group != "g" || len(list) != 1 || list[0].Offset.Offset != 5 {
			t.Errorf("offsets of %s: %v", group, list)
		}
	}
	if groups != 1 {
		t.Errorf("offsets of %d groups", groups)
	}
}

func TestManyMembersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, DefaultSettings())
		var members sync.WaitGroup
		for i := range 50 {
			members.Go(func() {
				ctx := t.Context()
				j, err := l.Join(joining("g", fmt.Sprint("c", i), ""))(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				r := &SyncRequest{Group: "g", MemberID: j.MemberID, Generation: j.Generation, Assignments: map[string][]byte{}}
				for _, m := range j.Members {
					r.Assignments[m.MemberID] = []byte("for " + m.MemberID)
				}
				s, err := l.Sync(r)(ctx)
				if err != nil || string(s.Assignment) != "for "+j.MemberID || j.Generation != 1 {
					t.Errorf("%+v, %+v, %v", j, s, err)
				}
				r2 := commit("g", "t", int32(i%4), int64(i))
				r2.MemberID, r2.Generation = j.MemberID, j.Generation
				if _, err := l.Commit(r2)(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		members.Wait()
	})
}
