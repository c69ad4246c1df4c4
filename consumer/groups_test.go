package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

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

	want := "[{g classic consumer Stable} {simple classic  Empty}]"
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
