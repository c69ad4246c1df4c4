package consumer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/topic"
)

// TestRandomConsumerGroups lets clients come, go, lose answers, take their time to give up partitions and change their
// subscriptions, while topics change and the broker is started again. It checks after each step that
//
//   - no partition is held by two members, nor used by two clients that the group takes for its members;
//   - no epoch goes back, and no member is ahead of the targets, nor they of the group;
//   - the next deadline is in the future, and what is stored is what is in memory;
//   - the targets are partitions that exist and that their members want.
//
// In the end, when nobody is late any more, the group becomes stable and every partition is used by one client.
func TestRandomConsumerGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newConsumerWorld(t)
		actions := map[string]func(*rapid.T){
			"join":    w.join,
			"beat":    w.beat,
			"beats":   w.beats,
			"obey":    w.obey,
			"go":      w.leave,
			"wishes":  w.wishes,
			"topics":  w.changeTopics,
			"commit":  w.commit,
			"nobody":  w.nonsense,
			"wait":    w.wait,
			"restart": w.restart,
			"":        w.check,
		}
		for range 4 {
			t.Repeat(actions)
		}
		w.settleDown()
	})
}

// groupClient is one client, with what it knows and uses.
type groupClient struct {
	id, instance string
	names        []string
	regex        string
	epoch        int32
	told         places // the last assignment that it got
	uses         places // told, and what it has not yet given up
	reports      bool   // the next heartbeat says what it has
	full         bool   // the next heartbeat says everything
}

type consumerWorld struct {
	t       *rapid.T
	group   *consumerGroup
	topics  *catalog
	list    []Topic
	now     time.Time
	stored  storedGroup
	clients []*groupClient
	made    int // ids so far

	epoch, targetEpoch int32            // after the last step
	epochs             map[string]int32 // of members
}

func newConsumerWorld(t *rapid.T) *consumerWorld {
	s := DefaultSettings()
	s.MaxMembers = 5
	w := &consumerWorld{t: t, group: newConsumerGroup(s), topics: newCatalog(1, nil), now: traceStart, epochs: map[string]int32{}}
	w.changeTopics(t)
	return w
}

func (w *consumerWorld) fresh() string {
	w.made++
	return fmt.Sprint("m", w.made)
}

// settle stores what the group wants stored, and compares.
func (w *consumerWorld) settle() {
	out := w.group.drain()
	if !out.save {
		return
	}
	w.stored.save(w.group.image(out.members, false))
	all := w.group.image(nil, true)
	if !bytes.Equal(all.group, w.stored.group) || len(all.members) != len(w.stored.members) {
		w.t.Fatalf("the group is not stored as it is")
	}
	for id, record := range all.members {
		if !bytes.Equal(record, w.stored.members[id]) {
			w.t.Fatalf("member %s is not stored as it is", id)
		}
	}
}

func (w *consumerWorld) pick(t *rapid.T) *groupClient {
	if len(w.clients) == 0 {
		return nil
	}
	return rapid.SampledFrom(w.clients).Draw(t, "client")
}

func (w *consumerWorld) join(t *rapid.T) {
	if len(w.clients) >= 4 {
		return
	}
	c := &groupClient{id: w.fresh()}
	if rapid.IntRange(0, 2).Draw(t, "static") == 0 {
		c.instance = rapid.SampledFrom([]string{"A", "B"}).Draw(t, "instance")
	}
	w.clients = append(w.clients, c)
	w.choose(t, c)
	w.enter(c, rapid.IntRange(0, 5).Draw(t, "lost") == 0)
}

func (w *consumerWorld) choose(t *rapid.T, c *groupClient) {
	c.names = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t", "u", "v"}), 0, 3, rapid.ID).Draw(t, "topics")
	c.regex = rapid.SampledFrom([]string{"", "", "[uv]"}).Draw(t, "regex")
}

// enter joins, for the first time or again. The client has given up everything.
func (w *consumerWorld) enter(c *groupClient, lost bool) {
	c.epoch, c.told, c.uses = JoinEpoch, nil, nil
	c.full, c.reports = true, true
	w.send(c, lost)
}

// send makes the heartbeat that c would send now, and lets c see the answer unless it gets lost.
func (w *consumerWorld) send(c *groupClient, lost bool) {
	r := &HeartbeatRequest{Group: "g", MemberID: c.id, Epoch: c.epoch, ClientID: "c", RebalanceTimeout: -1}
	if c.full {
		r.InstanceID, r.RebalanceTimeout, r.Topics, r.Regex = c.instance, time.Minute, append([]string{}, c.names...), &c.regex
	}
	if c.full || c.reports {
		r.Owned = c.uses.byTopic()
	}
	if err := r.check(); err != nil {
		w.t.Fatalf("a client sends nonsense: %v", err)
	}
	resp, err := w.group.heartbeat(r, w.topics, w.now)
	w.settle()
	if err == nil && w.group.state() == Empty {
		w.t.Fatal("a heartbeat was answered in an empty group")
	}
	switch {
	case lost:
		c.full = true
	case errors.Is(err, ErrFencedEpoch):
		c.epoch, c.told, c.uses, c.full = JoinEpoch, nil, nil, true
	case err != nil:
		if !errors.Is(err, ErrUnknownMember) && !errors.Is(err, ErrFencedInstance) && !errors.Is(err, ErrUnreleasedInstance) &&
			!errors.Is(err, ErrGroupFull) {
			w.t.Fatalf("%s: %v", c.id, err)
		}
		w.lose(c)
	default:
		c.full, c.reports = false, false
		c.epoch = resp.Epoch
		if resp.Assignment != nil {
			c.told = placesOf(resp.Assignment)
			c.uses = c.uses.or(c.told)
			c.reports = !c.uses.equal(c.told)
		}
	}
}

// lose forgets a client that is no longer a member.
func (w *consumerWorld) lose(c *groupClient) {
	w.clients = slices.DeleteFunc(w.clients, func(other *groupClient) bool { return other == c })
}

func (w *consumerWorld) beat(t *rapid.T) {
	if c := w.pick(t); c != nil {
		w.send(c, rapid.IntRange(0, 3).Draw(t, "lost") == 0)
	}
}

func (w *consumerWorld) beats(*rapid.T) {
	for _, c := range slices.Clone(w.clients) {
		w.send(c, false)
		w.check(w.t)
	}
}

// obey lets a client give up what it was told to.
func (w *consumerWorld) obey(t *rapid.T) {
	if c := w.pick(t); c != nil && !c.uses.equal(c.told) {
		c.uses, c.reports = c.told, true
	}
}

// leave lets a client go: with a word, for a while, or by a crash.
func (w *consumerWorld) leave(t *rapid.T) {
	c := w.pick(t)
	if c == nil || rapid.IntRange(0, 2).Draw(t, "stay") > 0 {
		return
	}
	how := rapid.SampledFrom([]int32{LeaveEpoch, AwayEpoch, 0}).Draw(t, "how")
	if how == AwayEpoch && c.instance == "" {
		how = LeaveEpoch
	}
	w.lose(c)
	if how == 0 {
		return
	}
	r := &HeartbeatRequest{Group: "g", MemberID: c.id, Epoch: how, InstanceID: c.instance, RebalanceTimeout: -1}
	_, err := w.group.heartbeat(r, w.topics, w.now)
	w.settle()
	if err == nil && how == AwayEpoch && rapid.Bool().Draw(t, "comes back") {
		c.id = w.fresh()
		w.clients = append(w.clients, c)
		w.enter(c, false)
	}
}

// wishes changes a subscription.
func (w *consumerWorld) wishes(t *rapid.T) {
	if c := w.pick(t); c != nil {
		w.choose(t, c)
		c.full = true
	}
}

func (w *consumerWorld) changeTopics(t *rapid.T) {
	w.list = nil
	for _, name := range []string{"t", "u", "v"} {
		if n := rapid.Int32Range(0, 5).Draw(t, name); n > 0 {
			id := topicID(name)
			id[1] = rapid.SampledFrom([]byte{0, 0, 0, 1}).Draw(t, "version")
			w.list = append(w.list, Topic{name, id, n})
		}
	}
	w.topics = newCatalog(w.topics.number+1, w.list)
}

// commit: a member may commit what it uses, as long as it knows its epoch or the one before, and no other place with an
// older epoch.
func (w *consumerWorld) commit(t *rapid.T) {
	c := w.pick(t)
	if c == nil || !w.member(c) {
		return
	}
	m := w.group.members[c.id]
	r := &CommitRequest{MemberID: c.id, Generation: c.epoch, MemberEpochs: true}
	allowed, err := w.group.mayCommit(r, w.now)
	if err != nil {
		t.Fatalf("%s in epoch %d of %d may not commit: %v", c.id, c.epoch, m.epoch, err)
	}
	for _, p := range m.assigned.or(m.revoking) {
		if err := allowed(p); err != nil && c.uses.has(p) && c.epoch > 0 {
			t.Fatalf("%s may not commit %v, which it uses: %v", c.id, p, err)
		}
	}
	if c.epoch < m.epoch && allowed(place{topic.ID{9}, 0}) == nil {
		t.Fatalf("%s may commit with an old epoch what it does not have", c.id)
	}
}

// nonsense comes from nobody in particular.
func (w *consumerWorld) nonsense(t *rapid.T) {
	r := &HeartbeatRequest{
		Group:      "g",
		MemberID:   fmt.Sprint("m", rapid.IntRange(0, w.made+1).Draw(t, "id")),
		Epoch:      rapid.Int32Range(1, w.group.epoch+1).Draw(t, "epoch"),
		InstanceID: rapid.SampledFrom([]string{"", "A", "C"}).Draw(t, "instance"),
	}
	m := w.group.members[r.MemberID]
	if m != nil && (m.epoch == r.Epoch || m.previous == r.Epoch) {
		return // that would be somebody's
	}
	if resp, err := w.group.heartbeat(r, w.topics, w.now); err == nil {
		t.Fatalf("a stranger is a member: %+v", resp)
	}
	w.settle()
}

func (w *consumerWorld) wait(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
		w.sleep(rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 50 * time.Second}).Draw(t, "time"))
	}
}

func (w *consumerWorld) sleep(d time.Duration) {
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

func (w *consumerWorld) restart(t *rapid.T) {
	if w.stored.group == nil || rapid.IntRange(0, 3).Draw(t, "skip") > 0 {
		return
	}
	g, err := w.stored.load(w.group.settings, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.group = g
}

// member says whether the group takes c for a member, with what c knows.
func (w *consumerWorld) member(c *groupClient) bool {
	m := w.group.members[c.id]
	return m != nil && (c.epoch == m.epoch || c.epoch == m.previous)
}

func (w *consumerWorld) check(t *rapid.T) {
	g := w.group
	if g.epoch < w.epoch || g.targetEpoch < w.targetEpoch || g.targetEpoch > g.epoch {
		t.Fatalf("epochs went from %d, %d to %d, %d", w.epoch, w.targetEpoch, g.epoch, g.targetEpoch)
	}
	w.epoch, w.targetEpoch = g.epoch, g.targetEpoch
	held, aimed := map[place]string{}, map[place]string{}
	claim := func(by map[place]string, list places, id string) {
		for _, p := range list {
			if other, ok := by[p]; ok {
				t.Fatalf("%v belongs to %s and %s", p, other, id)
			}
			by[p] = id
		}
	}
	for _, m := range g.sorted() {
		id := m.id
		claim(held, m.assigned, id)
		claim(held, m.revoking, id)
		claim(aimed, m.target, id)
		if m.epoch != AwayEpoch && m.epoch < w.epochs[id] || m.epoch > g.targetEpoch {
			t.Fatalf("%s went from epoch %d to %d, the targets are at %d", id, w.epochs[id], m.epoch, g.targetEpoch)
		}
		w.epochs[id] = max(m.epoch, 0)
		if g.members[id] != m || m.instance != "" && g.static[m.instance] != id || len(m.revoking) > 0 == m.revokeBy.IsZero() {
			t.Fatalf("%s is not filed well: %+v", id, m)
		}
	}
	for p, m := range g.holders {
		if held[p] != m.id {
			t.Fatalf("%v is filed under %s, %q has it", p, m.id, held[p])
		}
	}
	if len(g.holders) != len(held) {
		t.Fatalf("%d places are filed, %d are held", len(g.holders), len(held))
	}
	used := map[place]string{}
	for _, c := range w.clients {
		if w.member(c) {
			claim(used, c.uses, c.id)
		}
	}
	w.checkTargets(t)
	if d := g.deadline(); !d.IsZero() && !d.After(w.now) || d.IsZero() && len(g.members) > 0 {
		t.Fatalf("the next deadline is %v ago", w.now.Sub(d))
	}
}

// checkTargets holds as soon as somebody said something after the last change.
func (w *consumerWorld) checkTargets(t *rapid.T) {
	g := w.group
	if g.epoch != g.targetEpoch || g.checked != w.topics.number {
		return
	}
	find := newResolver(w.topics)
	for _, m := range g.sorted() {
		for _, p := range m.target {
			if !slices.ContainsFunc(find.wanted(m.interest).topics, func(t Topic) bool { return t.ID == p.topic && p.partition < t.Partitions }) {
				t.Fatalf("%s is to get %v, which it does not want or which is gone", m.id, p)
			}
		}
	}
}

// settleDown waits for those who do not come back, and lets all others do what they are told.
func (w *consumerWorld) settleDown() {
	for range 12 {
		for _, c := range slices.Clone(w.clients) {
			c.uses, c.reports = c.told, true
			w.send(c, false)
			w.check(w.t)
		}
		w.sleep(10 * time.Second)
	}
	if s := w.group.state(); s != Stable && s != Empty {
		w.t.Fatalf("the group ends up %v: %+v", s, w.group.sorted())
	}
	if len(w.clients) != len(w.group.members) {
		w.t.Fatalf("%d clients and %d members", len(w.clients), len(w.group.members))
	}
	used := 0
	for _, c := range w.clients {
		used += len(c.uses)
		if !c.uses.equal(w.group.members[c.id].target) {
			w.t.Fatalf("%s uses %v instead of %v", c.id, c.uses, w.group.members[c.id].target)
		}
	}
	total := 0
	for _, t := range w.group.wantedByAny(w.topics) {
		total += int(t.Partitions)
	}
	if used != total {
		w.t.Fatalf("%d of %d partitions are used", used, total)
	}
}

// FuzzConsumerRecords: whatever is read from the disk, decoding does not panic, takes no more memory than the record is
// long, and what it accepts is encoded to the same again.
func FuzzConsumerRecords(f *testing.F) {
	g := newConsumerGroup(DefaultSettings())
	topics := newCatalog(1, []Topic{{"t", topic.ID{1}, 3}, {"u", topic.ID{2}, 1}})
	regex := "u"
	for _, id := range []string{"a", "b"} {
		g.heartbeat(&HeartbeatRequest{MemberID: id, InstanceID: id, RebalanceTimeout: time.Minute, Topics: []string{"t"}, Regex: &regex,
			Owned: []Assigned{}}, topics, traceStart)
	}
	g.heartbeat(&HeartbeatRequest{MemberID: "a", Epoch: 1}, topics, traceStart)
	image := g.image(nil, true)
	f.Add(image.group)
	for _, record := range image.members {
		f.Add(record)
	}
	f.Add(memberKey("g", "a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := decodeConsumer(b, DefaultSettings()); err == nil {
			if record := encodeConsumer(g); !bytes.Equal(record, b) {
				t.Errorf("a group is encoded to %x", record)
			}
		}
		if m, err := decodeMember("m", b); err == nil {
			again, err := decodeMember("m", encodeMember(m))
			if err != nil || !bytes.Equal(encodeMember(again), encodeMember(m)) {
				t.Errorf("a member is read differently the second time: %v", err)
			}
		}
		if group, id, err := decodeMemberKey(b); err == nil {
			g2, id2, err := decodeMemberKey(memberKey(group, id))
			if err != nil || g2 != group || id2 != id {
				t.Errorf("a key is read differently the second time: %v", err)
			}
		}
	})
}
