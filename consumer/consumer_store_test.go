package consumer

import (
	"errors"
	"testing"

	"go.etcd.io/bbolt"
)

// stored counts the records of members.
func (l *lab) stored() int {
	n := 0
	l.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(membersBucket).ForEach(func(_, _ []byte) error { n++; return nil })
	})
	return n
}

func TestFailedSavesOfConsumersHeal(t *testing.T) {
	l := newLab(t, quick())
	l.pair("g")
	broken := errors.New("broken")
	fail := func(r *HeartbeatRequest) { // together with something that takes the transaction down
		t.Helper()
		started, release := make(chan struct{}), make(chan struct{})
		l.store.Add(func(*bbolt.Tx) error { close(started); <-release; return nil }, nil)
		<-started
		l.store.Add(func(*bbolt.Tx) error { return broken }, nil)
		wait := l.ConsumerHeartbeat(r)
		close(release)
		if _, err := attempt(t, wait); !errors.Is(err, ErrStorage) {
			t.Errorf("%s: %v", r.MemberID, err)
		}
	}
	fail(entering("g", "c", "t"))
	fail(beating("g", "a", 2, "t:0,1"))
	fail(&HeartbeatRequest{Group: "g", MemberID: "b", Epoch: LeaveEpoch})
	// What a heartbeat saves is all that has changed since.
	l.wantBeat(entering("g", "c", "t"), 4, "t:3")
	d, err := l.killed().DescribeConsumer("g")
	if err != nil || len(d.Members) != 2 || d.Members[0].MemberID != "a" || d.Members[1].Epoch != 4 {
		t.Errorf("stored are %+v, %v", d, err)
	}
}

func TestDamagedMembersAreLeftOut(t *testing.T) {
	l := newLab(t, quick())
	l.pair("g")
	l.wantBeat(entering("h", "a", "t"), 1, "t:0,1,2,3")
	l.wantBeat(entering("i", "a", "t"), 1, "t:0,1,2,3")
	err := l.db.Update(func(tx *bbolt.Tx) error {
		members, groups := tx.Bucket(membersBucket), tx.Bucket(groupsBucket)
		twin := members.Get(memberKey("g", "b"))
		return errors.Join(
			members.Put(memberKey("g", "a"), []byte{99}),
			members.Put(memberKey("g", "c"), twin),
			members.Put([]byte{200}, twin),
			members.Put(memberKey("none", "a"), twin),
			groups.Put([]byte("i"), []byte{consumerVersion, 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
	again := l.killed()
	again.wantBeatError(beating("g", "a", 2), ErrUnknownMember)
	again.wantBeatError(beating("g", "c", 2), ErrUnknownMember)
	again.wantBeat(beating("g", "b", 2), 4, "t:0,1,2,3")
	again.wantBeat(beating("h", "a", 1), 1, "")
	again.wantBeat(entering("i", "x", "t"), 1, "t:0,1,2,3")
	if n := again.stored(); n != 3 {
		t.Errorf("%d records of members are left", n)
	}
}
