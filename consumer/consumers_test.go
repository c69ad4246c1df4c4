package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func entering(group, member string, topics ...string) *HeartbeatRequest {
	return &HeartbeatRequest{
		Group: group, MemberID: member, Epoch: JoinEpoch, ClientID: "c", Host: "/127.0.0.1",
		RebalanceTimeout: time.Minute, Topics: topics, Owned: []Assigned{},
	}
}

// beating is a heartbeat that changes nothing; with places, it says that the member has them.
func beating(group, member string, epoch int32, owns ...string) *HeartbeatRequest {
	r := &HeartbeatRequest{Group: group, MemberID: member, Epoch: epoch, ClientID: "c", Host: "/127.0.0.1", RebalanceTimeout: -1}
	if len(owns) > 0 {
		r.Owned = labPlaces(owns[0]).byTopic()
	}
	return r
}

// labPlaces reads places of the topics t and u of a lab.
func labPlaces(text string) places {
	s := parsePlaces(text)
	for i := range s {
		s[i].topic = map[byte][16]byte{'t': {1}, 'u': {2}}[s[i].topic[0]]
	}
	return newPlaces(s...)
}

// wantBeat sends a heartbeat, which has to be answered with the epoch and the places, "" for as before.
func (l *lab) wantBeat(r *HeartbeatRequest, epoch int32, assigned string) {
	l.t.Helper()
	resp := result(l.t, l.ConsumerHeartbeat(r))
	got := ""
	if resp.Assignment != nil {
		got = placesOf(resp.Assignment).String()
	}
	if want := labPlaces(assigned); resp.Epoch != epoch || (assigned == "") != (got == "") || assigned != "" && got != want.String() {
		l.t.Errorf("%s: epoch %d, %q, want %d, %q", r.MemberID, resp.Epoch, got, epoch, assigned)
	}
}

func (l *lab) wantBeatError(r *HeartbeatRequest, want error) {
	l.t.Helper()
	if _, err := attempt(l.t, l.ConsumerHeartbeat(r)); !errors.Is(err, want) {
		l.t.Errorf("%s: %v, want %v", r.MemberID, err, want)
	}
}

// pair makes a stable group of the members a and b, which share the topic t.
func (l *lab) pair(group string) {
	l.t.Helper()
	l.wantBeat(entering(group, "a", "t"), 1, "t:0,1,2,3")
	l.wantBeat(entering(group, "b", "t"), 2, " ")
	l.wantBeat(beating(group, "a", 1, "t:0,1"), 2, "t:0,1")
	l.wantBeat(beating(group, "b", 2), 2, "t:2,3")
}

func TestConsumersContinueAfterAKill(t *testing.T) {
	l := newLab(t, quick())
	l.pair("g")
	r := entering("g", "c", "t")
	r.InstanceID = "C"
	l.wantBeat(r, 3, " ")
	l.wantBeat(beating("g", "a", 2), 2, "t:0")
	again := l.killed()
	again.wantBeat(beating("g", "a", 2), 2, "")
	again.wantBeat(beating("g", "c", 3), 3, "")
	again.wantBeat(beating("g", "a", 2, "t:0"), 3, "")
	again.wantBeat(beating("g", "c", 3), 3, "t:1")
	again.wantBeat(beating("g", "b", 2), 3, "")
	third := again.killed()
	d, err := third.DescribeConsumer("g")
	if err != nil || d.State != Stable || d.Epoch != 3 || d.TargetEpoch != 3 || d.Assignor != "uniform" || len(d.Members) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	c := d.Members[2]
	if c.MemberID != "c" || c.InstanceID != "C" || c.ClientID != "c" || c.Host != "/127.0.0.1" || c.Epoch != 3 ||
		fmt.Sprint(c.Topics) != "[t]" || len(c.Assignment) != 1 || c.Assignment[0].Name != "t" || fmt.Sprint(c.Assignment[0].Partitions) != "[1]" {
		t.Errorf("%+v", c)
	}
}

func TestConsumerSessionsEndByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, quick())
		l.pair("g")
		for range 8 {
			time.Sleep(5 * time.Second)
			l.wantBeat(beating("g", "b", 2), 2, "")
		}
		time.Sleep(6 * time.Second) // a has been silent for longer than its session
		l.wantBeat(beating("g", "b", 2), 3, "t:0,1,2,3")
		l.wantBeatError(beating("g", "a", 2), ErrUnknownMember)

		l.wantBeat(entering("g", "c", "t"), 4, " ")
		l.wantBeat(beating("g", "b", 3), 3, "t:0,1")
		for range 11 {
			time.Sleep(5 * time.Second)
			l.wantBeat(beating("g", "b", 3), 3, "") // it does not give up what it should
			l.wantBeat(beating("g", "c", 4), 4, "")
		}
		time.Sleep(6 * time.Second)
		l.wantBeatError(beating("g", "b", 3), ErrUnknownMember)
		l.wantBeat(beating("g", "c", 4), 5, "t:0,1,2,3")
		time.Sleep(46 * time.Second)
		if d, err := l.DescribeConsumer("g"); err != nil || d.State != Empty || len(d.Members) != 0 {
			t.Errorf("%+v, %v", d, err)
		}
		if n := l.stored(); n != 0 {
			t.Errorf("%d records of members are left", n)
		}
		time.Sleep(l.settings.SweepEach)
		if list := l.List(); len(list) != 0 {
			t.Errorf("a group without members and offsets is left: %v", list)
		}
	})
}

func TestTopicsThatChange(t *testing.T) {
	l := newLab(t, quick())
	r := entering("g", "a")
	regex := "t|new"
	r.Topics, r.Regex = nil, &regex
	l.wantBeat(r, 1, "t:0,1,2,3")
	l.topics.set("t", 1, 6)
	l.wantBeat(beating("g", "a", 1), 2, "t:0,1,2,3,4,5")
	l.topics.set("t", 0, 0)
	l.wantBeat(beating("g", "a", 2), 2, " ")
	l.wantBeat(beating("g", "a", 2, " "), 3, "")
	l.topics.set("new", 2, 1)
	l.wantBeat(beating("g", "a", 3), 4, "u:0")
	again := l.killed()
	again.wantBeat(beating("g", "a", 4), 4, "")
	l.topics.set("new", 2, 2)
	again.wantBeat(beating("g", "a", 4), 5, "u:0,1")
}

func TestTypesOfGroupsClash(t *testing.T) {
	l := newLab(t, quick())
	id := l.single("classic")
	l.pair("modern")
	l.commit(commit("simple", "t", 0, 7))

	l.wantBeatError(entering("classic", "a", "t"), ErrNotFound)
	l.wantBeatError(beating("classic", "a", 1), ErrNotFound)
	l.wantBeatError(beating("none", "a", 1), ErrUnknownMember)
	for _, member := range []string{"", "a"} {
		if _, err := attempt(t, l.Join(joining("modern", "c", member))); !errors.Is(err, ErrInconsistentProtocol) {
			t.Errorf("classic join: %v", err)
		}
	}
	if _, err := attempt(t, l.Sync(&SyncRequest{Group: "modern", MemberID: "a", Generation: 2})); !errors.Is(err, ErrUnknownMember) {
		t.Errorf("classic sync: %v", err)
	}
	if err := l.Heartbeat("modern", MemberRef{MemberID: "a"}, 2); !errors.Is(err, ErrUnknownMember) {
		t.Errorf("classic heartbeat: %v", err)
	}
	if errs, err := l.Leave("modern", []MemberRef{{MemberID: "a"}}); err != nil || !errors.Is(errs[0], ErrUnknownMember) {
		t.Errorf("classic leave: %v, %v", errs, err)
	}
	if _, err := l.Describe("modern"); !errors.Is(err, ErrNotFound) {
		t.Errorf("described as classic: %v", err)
	}
	if _, err := l.DescribeConsumer("classic"); !errors.Is(err, ErrNotFound) {
		t.Errorf("described as consumer group: %v", err)
	}
	if got, want := fmt.Sprint(l.List()), "[{classic classic consumer Stable} {modern consumer consumer Stable} {simple classic  Empty}]"; got != want {
		t.Errorf("list is %s, want %s", got, want)
	}

	// An empty group changes its type, and keeps its offsets.
	l.wantBeat(entering("simple", "a", "t"), 1, "t:0,1,2,3")
	l.wantOffset("simple", "t", 7)
	if _, err := l.Leave("classic", []MemberRef{{MemberID: id}}); err != nil {
		t.Fatal(err)
	}
	l.wantBeatError(beating("classic", "a", 1), ErrUnknownMember)
	l.wantBeat(entering("classic", "a", "t"), 1, "t:0,1,2,3")
	for _, member := range []string{"a", "b"} {
		l.wantBeat(&HeartbeatRequest{Group: "modern", MemberID: member, Epoch: LeaveEpoch}, LeaveEpoch, "")
	}
	if _, err := attempt(t, l.Join(joining("modern", "c", "x"))); !errors.Is(err, ErrUnknownMember) {
		t.Errorf("classic join under an unknown id: %v", err)
	}
	l.single("modern")

	again := l.killed()
	if got, want := fmt.Sprint(again.List()), "[{classic consumer consumer Stable} {modern classic consumer Stable} {simple consumer consumer Stable}]"; got != want {
		t.Errorf("after a restart the list is %s, want %s", got, want)
	}
	again.wantBeat(beating("classic", "a", 1), 1, "")
	again.wantOffset("simple", "t", 7)
	if n := again.stored(); n != 2 {
		t.Errorf("%d records of members, want those of the two consumer groups", n)
	}
}

func TestOffsetsOfConsumers(t *testing.T) {
	l := newLab(t, quick())
	l.pair("g")
	from := func(member string, epoch int32, partitions ...int32) *CommitRequest {
		r := &CommitRequest{Group: "g", MemberID: member, Generation: epoch, MemberEpochs: true}
		for _, n := range partitions {
			r.Offsets = append(r.Offsets, Committed{"t", n, Offset{Offset: 5}})
		}
		return r
	}
	l.commit(from("a", 2, 0))
	l.wantOffset("g", "t", 5)
	errs := result(t, l.Commit(from("a", 1, 0, 9, 2)))
	for i, want := range []error{nil, ErrUnknownPartition, ErrStaleEpoch} {
		if !errors.Is(errs[i], want) {
			t.Errorf("offset %d in an older epoch: %v, want %v", i, errs[i], want)
		}
	}
	for want, r := range map[error]*CommitRequest{
		ErrStaleEpoch:    from("a", 3, 0),
		ErrUnknownMember: from("x", 2, 0),
		ErrClientTooOld:  {Group: "g", MemberID: "a", Generation: 2, Offsets: from("", 0, 0).Offsets},
	} {
		if _, err := attempt(t, l.Commit(r)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := attempt(t, l.Commit(commit("g", "t", 0, 6))); !errors.Is(err, ErrUnknownMember) {
		t.Errorf("from outside while there are members: %v", err)
	}
	for _, c := range []struct {
		group, member string
		epoch         int32
		want          error
	}{{"g", "a", 2, nil}, {"g", "a", 1, ErrStaleEpoch}, {"g", "a", 3, ErrStaleEpoch}, {"g", "x", 2, ErrUnknownMember}, {"none", "x", 2, nil}} {
		if err := l.MayFetch(c.group, c.member, c.epoch); !errors.Is(err, c.want) {
			t.Errorf("fetch by %s in epoch %d: %v, want %v", c.member, c.epoch, err, c.want)
		}
	}

	errs = result(t, l.DeleteOffsets("g", []TopicPartition{{"t", 0}, {"u", 0}}))
	if !errors.Is(errs[0], ErrSubscribed) || errs[1] != nil {
		t.Errorf("delete offsets: %v", errs)
	}
	if errs := result(t, l.Delete([]string{"g"})); !errors.Is(errs[0], ErrNonEmpty) {
		t.Errorf("delete: %v", errs)
	}
	for _, member := range []string{"a", "b"} {
		l.wantBeat(&HeartbeatRequest{Group: "g", MemberID: member, Epoch: LeaveEpoch}, LeaveEpoch, "")
	}
	l.commit(commit("g", "t", 0, 6))
	l.killed().wantOffset("g", "t", 6)
	if errs := result(t, l.Delete([]string{"g"})); errs[0] != nil {
		t.Errorf("delete: %v", errs)
	}
	l.wantOffset("g", "t", -1)
	if list := l.killed().List(); len(list) != 0 {
		t.Errorf("after the deletion and a restart: %v", list)
	}
}

func TestOffsetsOfEmptyConsumerGroupsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quick()
		s.Retention, s.SweepEach = time.Minute, 10*time.Second
		l := newLab(t, s)
		l.wantBeat(entering("g", "a", "t"), 1, "t:0,1,2,3")
		l.commit(&CommitRequest{Group: "g", MemberID: "a", Generation: 1, MemberEpochs: true, Offsets: []Committed{{"t", 0, Offset{Offset: 5}}}})
		for range 10 {
			time.Sleep(20 * time.Second)
			l.wantBeat(beating("g", "a", 1), 1, "")
		}
		l.wantOffset("g", "t", 5)
		l.wantBeat(&HeartbeatRequest{Group: "g", MemberID: "a", Epoch: LeaveEpoch}, LeaveEpoch, "")
		time.Sleep(50 * time.Second)
		l.wantOffset("g", "t", 5)
		time.Sleep(21 * time.Second)
		l.wantOffset("g", "t", -1)
	})
}

func TestHeartbeatsThatMakeNoGroup(t *testing.T) {
	l := newLab(t, quick())
	long := strings.Repeat("x", MaxMemberID+1)
	for name, c := range map[string]struct {
		change func(*HeartbeatRequest)
		want   error
	}{
		"no group":      {func(r *HeartbeatRequest) { r.Group = "" }, ErrInvalidGroupID},
		"long id":       {func(r *HeartbeatRequest) { r.MemberID = long }, ErrInvalidHeartbeat},
		"long instance": {func(r *HeartbeatRequest) { r.InstanceID = long }, ErrInvalidHeartbeat},
		"no topics":     {func(r *HeartbeatRequest) { r.Topics = nil }, ErrInvalidHeartbeat},
		"owns":          {func(r *HeartbeatRequest) { r.Owned = labPlaces("t:0").byTopic() }, ErrInvalidHeartbeat},
		"owns unknown":  {func(r *HeartbeatRequest) { r.Owned = nil }, ErrInvalidHeartbeat},
		"no timeout":    {func(r *HeartbeatRequest) { r.RebalanceTimeout = -1 }, ErrInvalidHeartbeat},
		"assignor":      {func(r *HeartbeatRequest) { r.Assignor = "sticky" }, ErrUnknownAssignor},
		"large":         {func(r *HeartbeatRequest) { r.Topics = []string{string(make([]byte, MaxSubscription+1))} }, ErrTooLarge},
		"no member":     {func(r *HeartbeatRequest) { r.Epoch = 1 }, ErrUnknownMember},
		"nobody leaves": {func(r *HeartbeatRequest) { r.Epoch = LeaveEpoch }, ErrUnknownMember},
	} {
		r := entering("g", "a", "t")
		c.change(r)
		if _, err := attempt(t, l.ConsumerHeartbeat(r)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if list := l.List(); len(list) != 0 {
		t.Errorf("refused heartbeats made groups: %v", list)
	}
	resp := result(t, l.ConsumerHeartbeat(entering("g", "", "t")))
	if resp.MemberID == "" || resp.Each != 5*time.Second {
		t.Errorf("%+v", resp)
	}
}

// TestManyConsumersAtOnce: members that do what they are told end up with a fair share each, whatever the order.
func TestManyConsumersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, DefaultSettings())
		l.topics.set("t", 1, 100)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var members sync.WaitGroup
		for i := range 20 {
			members.Go(func() {
				r := entering("g", fmt.Sprint("m", i), "t")
				for ctx.Err() == nil {
					resp, err := l.ConsumerHeartbeat(r)(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					next := beating("g", resp.MemberID, resp.Epoch)
					if resp.Assignment != nil {
						next.Owned = resp.Assignment
					}
					r = next
					time.Sleep(resp.Each)
				}
			})
		}
		time.Sleep(time.Minute)
		cancel()
		members.Wait()
		d, err := l.DescribeConsumer("g")
		if err != nil || d.State != Stable || len(d.Members) != 20 {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, m := range d.Members {
			if len(m.Assignment) != 1 || len(m.Assignment[0].Partitions) != 5 {
				t.Errorf("%s has %v", m.MemberID, m.Assignment)
			}
		}
	})
}
