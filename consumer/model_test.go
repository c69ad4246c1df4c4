package consumer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRandomGroups throws random requests at one group, valid and not, and checks after each of them that
//
//   - the generation never decreases, and grows with every new assignment;
//   - the leader is a member while there is one to assign, and joins are parked only while members are awaited, syncs only
//     while the leader is;
//   - an assignment goes only to a member that asked in the generation for which it was made;
//   - no request is answered twice, and all are in the end;
//   - the next deadline is in the future, and what is saved can be read back.
func TestRandomGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		actions := map[string]func(*rapid.T){
			"join":      w.join,
			"sync":      w.sync,
			"heartbeat": w.heartbeat,
			"commit":    w.commit,
			"leave":     w.leave,
			"wait":      w.wait,
			"restart":   w.restart,
			"obey":      w.obey,
			"":          w.check,
		}
		for range 5 {
			t.Repeat(actions)
		}
		w.sleep(4 * time.Hour)
		if len(w.open) > 0 {
			t.Fatalf("requests that were never answered: %v", w.open)
		}
		if len(w.group.members) > 0 || len(w.group.pending) > 0 {
			t.Fatalf("members that never expired: %v", w.group.members)
		}
	})
}

// world is a group, its clients and what the test knows about them.
type world struct {
	t        *rapid.T
	settings Settings
	group    *classicGroup
	now      time.Time
	saved    []byte
	last     token
	open     map[token]string // requests without an answer, to the assignment that a sync may get
	ids      []string         // all that were given out
	highest  int32            // generation so far
	state    State            // after the last step
}

func newWorld(t *rapid.T) *world {
	s := DefaultSettings()
	s.MaxMembers = 4
	s.InitialDelay = rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "delay")
	return &world{
		t:        t,
		settings: s,
		group:    newClassicGroup(s),
		now:      traceStart,
		open:     map[token]string{},
		ids:      []string{"nobody"},
	}
}

func (w *world) park(expect string) token {
	w.last++
	w.open[w.last] = expect
	return w.last
}

func label(generation int32) string { return fmt.Sprintf("generation %d", generation) }

// settle looks at what the group says.
func (w *world) settle() {
	out := w.group.drain()
	if out.save {
		w.saved = encodeClassic(w.group)
		g, err := decodeClassic(w.saved, w.settings, w.now)
		if err != nil {
			w.t.Fatalf("cannot read what was saved: %v", err)
		}
		if !bytes.Equal(encodeClassic(g), w.saved) || g.state != w.group.state {
			w.t.Fatalf("read something else than what was saved")
		}
	}
	for _, r := range out.replies {
		expect, ok := w.open[r.to]
		if !ok {
			w.t.Fatalf("request %d was answered twice, or never made: %+v", r.to, r)
		}
		delete(w.open, r.to)
		if r.sync != nil && r.err == nil && len(r.sync.Assignment) > 0 && string(r.sync.Assignment) != expect {
			w.t.Fatalf("a member that asked for the assignment of %q got the one of %q", expect, r.sync.Assignment)
		}
		if r.join != nil && !slices.Contains(w.ids, r.join.MemberID) {
			w.ids = append(w.ids, r.join.MemberID)
		}
		if r.sync != nil && r.err == nil && expect != label(w.group.generation) {
			w.t.Fatalf("a member synced %s in generation %d", expect, w.group.generation)
		}
		if r.join != nil && r.err == nil && r.join.Generation != w.group.generation {
			w.t.Fatalf("a member was let into generation %d of %d", r.join.Generation, w.group.generation)
		}
	}
}

func (w *world) check(t *rapid.T) {
	g := w.group
	if g.generation < w.highest {
		t.Fatalf("generation went from %d to %d", w.highest, g.generation)
	}
	if g.state == CompletingRebalance && w.state != CompletingRebalance && g.generation == w.highest {
		t.Fatalf("members joined, but generation %d stayed", g.generation)
	}
	w.highest, w.state = g.generation, g.state
	if len(g.members) == 0 && g.state != Empty {
		t.Fatalf("%v without members", g.state)
	}
	if (g.state == Stable || g.state == CompletingRebalance) && g.members[g.leader] == nil {
		t.Fatalf("%v without a leader", g.state)
	}
	parked := 0
	for id, m := range g.members {
		if m.id != id || m.instance != "" && g.static[m.instance] != id {
			t.Fatalf("member %s is filed under %s and %s", m.id, id, g.static[m.instance])
		}
		if m.join != 0 && g.state != PreparingRebalance || m.sync != 0 && g.state != CompletingRebalance {
			t.Fatalf("%s has a request parked although the group is %v", id, g.state)
		}
		for _, to := range []token{m.join, m.sync} {
			if to != 0 {
				parked++
				if _, ok := w.open[to]; !ok {
					t.Fatalf("%s has an answered request parked", id)
				}
			}
		}
	}
	if parked != len(w.open) {
		t.Fatalf("%d requests are parked, %d are without an answer", parked, len(w.open))
	}
	if d := g.deadline(); !d.IsZero() && !d.After(w.now) {
		t.Fatalf("the next deadline is %v ago", w.now.Sub(d))
	}
}

// seldom is true four times out of five: it keeps groups alive for long enough to get somewhere.
func (w *world) seldom(t *rapid.T) bool { return rapid.IntRange(0, 4).Draw(t, "skip") != 0 }

// ref is a member: nearly always one of the group, under its own instance.
func (w *world) ref(t *rapid.T) MemberRef {
	members := w.group.sorted()
	if len(members) == 0 || rapid.IntRange(0, 9).Draw(t, "stranger") == 0 {
		return MemberRef{rapid.SampledFrom(w.ids).Draw(t, "id"), w.instance(t)}
	}
	m := rapid.SampledFrom(members).Draw(t, "member")
	return MemberRef{m.id, m.instance}
}

func (w *world) instance(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, "instance")
}

func (w *world) generation(t *rapid.T) int32 {
	return w.group.generation - rapid.SampledFrom([]int32{0, 0, 0, 0, 0, 1}).Draw(t, "generations ago")
}

func (w *world) join(t *rapid.T) {
	r := &JoinRequest{
		ClientID:         "c",
		InstanceID:       w.instance(t),
		ProtocolType:     "consumer",
		SessionTimeout:   rapid.SampledFrom([]time.Duration{6 * time.Second, 10 * time.Second, time.Minute}).Draw(t, "session"),
		RebalanceTimeout: rapid.SampledFrom([]time.Duration{0, 5 * time.Second, time.Minute}).Draw(t, "rebalance"),
		RequireMemberID:  rapid.Bool().Draw(t, "v4"),
		CanSkip:          rapid.Bool().Draw(t, "v9"),
	}
	switch pending := slices.Sorted(maps.Keys(w.group.pending)); rapid.IntRange(0, 9).Draw(t, "who") {
	case 0:
		r.ProtocolType = "connect"
	case 1:
		r.MemberID = rapid.SampledFrom(w.ids).Draw(t, "id")
	case 2, 3:
		if len(w.group.members) > 0 {
			ref := w.ref(t)
			r.MemberID, r.InstanceID = ref.MemberID, ref.InstanceID
		}
	case 4, 5, 6:
		if len(pending) > 0 {
			r.MemberID, r.InstanceID = rapid.SampledFrom(pending).Draw(t, "pending"), ""
		}
	}
	for _, name := range rapid.Permutation([]string{"range", "sticky", "other"}).Draw(t, "protocols")[:rapid.IntRange(2, 3).Draw(t, "n")] {
		r.Protocols = append(r.Protocols, Protocol{name, []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "subscription"))})
	}
	w.group.join(r, w.park(""), fmt.Sprintf("c-%d", w.last), w.now)
	w.settle()
}

func (w *world) sync(t *rapid.T) {
	ref := w.ref(t)
	r := &SyncRequest{MemberID: ref.MemberID, InstanceID: ref.InstanceID, Generation: w.generation(t), Assignments: map[string][]byte{}}
	for _, id := range w.ids {
		if rapid.Bool().Draw(t, "assign") {
			r.Assignments[id] = []byte(label(r.Generation))
		}
	}
	w.group.sync(r, w.park(label(r.Generation)), w.now)
	w.settle()
}

// obey lets members do what the group expects: all join, or some of them sync.
func (w *world) obey(t *rapid.T) {
	state, generation := w.group.state, w.group.generation
	for _, m := range w.group.sorted() {
		switch {
		case w.group.state != state || w.group.members[m.id] != m:
		case state == PreparingRebalance && m.join == 0:
			w.group.join(&JoinRequest{
				MemberID:         m.id,
				InstanceID:       m.instance,
				ProtocolType:     w.group.protocolType,
				Protocols:        m.protocols,
				SessionTimeout:   m.session,
				RebalanceTimeout: m.rebalance,
			}, w.park(""), "unused", w.now)
		case state == CompletingRebalance && rapid.Bool().Draw(t, "sync"):
			r := &SyncRequest{MemberID: m.id, InstanceID: m.instance, Generation: generation, Assignments: map[string][]byte{}}
			for id := range w.group.members {
				r.Assignments[id] = []byte(label(generation))
			}
			w.group.sync(r, w.park(label(generation)), w.now)
		}
		w.settle()
	}
}

func (w *world) heartbeat(t *rapid.T) {
	ref := w.ref(t)
	err := w.group.heartbeat(ref.MemberID, ref.InstanceID, w.generation(t), w.now)
	w.settle()
	if err == nil && w.group.state != Stable && w.group.state != CompletingRebalance {
		t.Fatalf("a heartbeat was welcome although the group is %v", w.group.state)
	}
}

func (w *world) commit(t *rapid.T) {
	ref := w.ref(t)
	r := &CommitRequest{MemberID: ref.MemberID, InstanceID: ref.InstanceID, Generation: w.generation(t)}
	if rapid.Bool().Draw(t, "simple") {
		r = &CommitRequest{Generation: -1}
	}
	_, err := w.group.mayCommit(r, w.now)
	w.settle()
	if err == nil && (r.Generation < 0) != (w.group.state == Empty) {
		t.Fatalf("a commit of generation %d was taken although the group is %v", r.Generation, w.group.state)
	}
	if err == nil && r.Generation >= 0 && r.Generation != w.group.generation {
		t.Fatalf("a commit of generation %d was taken in generation %d", r.Generation, w.group.generation)
	}
}

func (w *world) leave(t *rapid.T) {
	if w.seldom(t) {
		return
	}
	refs := []MemberRef{w.ref(t)}
	if rapid.Bool().Draw(t, "two") {
		refs = append(refs, MemberRef{InstanceID: w.instance(t)})
	}
	for i, err := range w.group.leave(refs, w.now) {
		if err != nil && !errors.Is(err, ErrUnknownMember) && !errors.Is(err, ErrFencedInstance) {
			t.Fatalf("leave of %+v: %v", refs[i], err)
		}
	}
	w.settle()
}

func (w *world) wait(t *rapid.T) {
	if w.seldom(t) {
		return
	}
	w.sleep(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second}).Draw(t, "time"))
}

func (w *world) sleep(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := w.group.deadline()
		if next.IsZero() || next.After(end) {
			break
		}
		w.now = next
		w.group.tick(w.now)
		w.settle()
		w.check(w.t)
	}
	w.now = end
}

// restart goes on with what was saved; all connections are gone.
func (w *world) restart(t *rapid.T) {
	if w.saved == nil || w.seldom(t) {
		return
	}
	g, err := decodeClassic(w.saved, w.settings, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.group, w.open, w.highest, w.state = g, map[token]string{}, g.generation, g.state
}

// FuzzRecords: whatever is read from the disk, decoding does not panic, takes no more memory than the record is long, and
// what it accepts is encoded to the same again.
func FuzzRecords(f *testing.F) {
	g := newClassicGroup(DefaultSettings())
	g.join(&JoinRequest{ClientID: "c", InstanceID: "A", ProtocolType: "consumer", SessionTimeout: time.Minute,
		Protocols: []Protocol{{"range", []byte("x")}, {"sticky", nil}}}, 1, "c-1", traceStart)
	g.tick(traceStart.Add(time.Minute))
	g.sync(&SyncRequest{MemberID: "c-1", Generation: 1, Assignments: map[string][]byte{"c-1": []byte("p0")}}, 2, traceStart)
	f.Add(encodeClassic(g))
	f.Add(encodeOffset(stored{Offset: Offset{Offset: 1, LeaderEpoch: 2, Metadata: "m", Time: traceStart}}))
	f.Add(offsetKey("g", "t", 3))
	f.Add([]byte("\x00\x00\x00\x00\x00\x01\x00\x01t"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := decodeClassic(b, DefaultSettings(), traceStart); err == nil {
			again, err := decodeClassic(encodeClassic(g), DefaultSettings(), traceStart)
			if err != nil || !bytes.Equal(encodeClassic(again), encodeClassic(g)) {
				t.Errorf("a group is read differently the second time: %v", err)
			}
		}
		if s, err := decodeOffset(b); err == nil {
			if again, err := decodeOffset(encodeOffset(s)); err != nil || again != s {
				t.Errorf("an offset is read differently the second time: %v, %v, %v", s, again, err)
			}
		}
		if group, topic, partition, err := decodeOffsetKey(b); err == nil {
			g2, t2, p2, err := decodeOffsetKey(offsetKey(group, topic, partition))
			if err != nil || g2 != group || t2 != topic || p2 != partition {
				t.Errorf("a key is read differently the second time: %v", err)
			}
		}
		subscribedTopics(b)
	})
}
