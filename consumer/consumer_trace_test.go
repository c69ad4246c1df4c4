package consumer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestConsumerTraces plays commands to a consumer group:
//
//	settings [max=N]
//	topics [NAME=PARTITIONS ...]     all that there are; the id of a topic is the first letter of its name and VERSION of
//	                                 NAME=PARTITIONS/VERSION
//	join ID [instance=I] [assignor=A] [rebalance=D] [regex=R] [TOPIC ...]
//	beat ID [epoch=N] [instance=I] [owns=PLACES] [wants=TOPICS] [regex=R] [assignor=A] [full]
//	                                 without an epoch in the one that the member was told last; full as after a lost answer;
//	                                 PLACES are t:0,1;u:2 or - for none
//	leave ID [instance=I]            for good
//	away ID instance=I               to come back
//	commit [ID] [epoch=N] [old] [TOPIC:PARTITION ...]
//	fetch ID [epoch=N]
//	wait D                           lets time pass, with every deadline on the way
//	restart                          goes on with what was saved
//
// A line about the group has its state, its epoch, and each member with its epoch and partitions; what it has to give up
// follows -, and its target > if it is another one.
func TestConsumerTraces(t *testing.T) {
	playTraces(t, "consumer", func() actor { return newConsumerPlayer(DefaultSettings()) })
}

// consumerPlayer drives one consumer group by commands.
type consumerPlayer struct {
	group  *consumerGroup
	topics *catalog
	now    time.Time
	stored storedGroup
	told   map[string]int32 // epochs by member
	shown  string
	out    strings.Builder
}

// storedGroup is a group on its way through the store.
type storedGroup struct {
	group   []byte
	members map[string][]byte
}

func (s *storedGroup) save(i image) {
	s.group = i.group
	if s.members == nil {
		s.members = map[string][]byte{}
	}
	for id, record := range i.members {
		if s.members[id] = record; record == nil {
			delete(s.members, id)
		}
	}
}

func (s *storedGroup) load(settings Settings, now time.Time) (*consumerGroup, error) {
	g, err := decodeConsumer(s.group, settings)
	if err != nil {
		return nil, err
	}
	r := newRestorer(g)
	for id, record := range s.members {
		m, err := decodeMember(id, record)
		if err != nil {
			return nil, err
		}
		if !r.restore(m, now) {
			return nil, fmt.Errorf("%s does not fit", id)
		}
	}
	return g, nil
}

func newConsumerPlayer(s Settings) *consumerPlayer {
	return &consumerPlayer{group: newConsumerGroup(s), topics: newCatalog(1, nil), now: traceStart, told: map[string]int32{}}
}

func (p *consumerPlayer) written() *strings.Builder { return &p.out }

func (p *consumerPlayer) command(words []string) error {
	a := newArgs(words[1:])
	id := a.first()
	switch words[0] {
	case "settings":
		p.group.settings.MaxMembers = a.number("max", "10000")
	case "topics":
		var all []Topic
		for _, kv := range a.pairs {
			t := Topic{Name: kv[0], ID: topicID(kv[0])}
			fmt.Sscanf(kv[1], "%d/%d", &t.Partitions, &t.ID[1])
			all = append(all, t)
		}
		p.topics = newCatalog(p.topics.number+1, all)
	case "join":
		r := p.request(a, id, JoinEpoch)
		r.Topics, r.Owned = append([]string{}, a.plain[1:]...), []Assigned{}
		r.RebalanceTimeout = a.duration("rebalance", "60s")
		p.beat(r)
	case "beat":
		p.beat(p.request(a, id, int32(a.number("epoch", fmt.Sprint(p.told[id])))))
	case "leave":
		p.beat(p.request(a, id, LeaveEpoch))
	case "away":
		p.beat(p.request(a, id, AwayEpoch))
	case "commit":
		p.commit(a)
	case "fetch":
		p.print("%s", outcome(p.group.mayFetch(id, int32(a.number("epoch", fmt.Sprint(p.told[id]))))))
	case "wait":
		return p.wait(id)
	case "restart":
		g, err := p.stored.load(p.group.settings, p.now)
		if err != nil {
			return err
		}
		p.group = g
	default:
		return fmt.Errorf("unknown command")
	}
	p.flush()
	return nil
}

// request makes of arguments a heartbeat that says no more than they do.
func (p *consumerPlayer) request(a *args, id string, epoch int32) *HeartbeatRequest {
	r := &HeartbeatRequest{Group: "g", MemberID: id, Epoch: epoch, ClientID: "c", RebalanceTimeout: -1}
	r.InstanceID, r.Assignor = a.take("instance", ""), a.take("assignor", "")
	if regex := a.take("regex", "none"); regex != "none" {
		r.Regex = &regex
	}
	if owns := a.take("owns", ""); owns != "" {
		r.Owned = parsePlaces(strings.ReplaceAll(strings.Trim(owns, "-"), ";", " ")).byTopic()
	}
	if wants := a.take("wants", ""); wants != "" {
		r.Topics = strings.Split(wants, ",")
	}
	if m := p.group.members[id]; m != nil && slices.Contains(a.plain, "full") {
		r.RebalanceTimeout, r.InstanceID = m.rebalance, m.instance
		if r.Topics == nil {
			r.Topics = append([]string{}, m.names...)
		}
	}
	return r
}

func (p *consumerPlayer) beat(r *HeartbeatRequest) {
	err := r.check()
	var resp *HeartbeatResponse
	if err == nil {
		resp, err = p.group.heartbeat(r, p.topics, p.now)
	}
	if err != nil {
		p.print("%s: %s", r.MemberID, outcome(err))
		return
	}
	p.told[resp.MemberID] = resp.Epoch
	text := "as before"
	if resp.Assignment != nil {
		text = placesOf(resp.Assignment).String()
	}
	p.print("%s in epoch %d: %s", resp.MemberID, resp.Epoch, text)
}

func (p *consumerPlayer) commit(a *args) {
	id := ""
	if len(a.plain) > 0 && !strings.Contains(a.plain[0], ":") {
		id = a.plain[0]
	}
	r := &CommitRequest{MemberID: id, Generation: -1, MemberEpochs: !slices.Contains(a.plain, "old")}
	if id != "" {
		r.Generation = int32(a.number("epoch", fmt.Sprint(p.told[id])))
	}
	allowed, err := p.group.mayCommit(r, p.now)
	if err != nil {
		p.print("%s", outcome(err))
		return
	}
	for _, word := range a.plain {
		for _, at := range parsePlaces(strings.TrimPrefix(word, id)) {
			p.print("%v: %s", places{at}, outcome(allowed(at)))
		}
	}
}

func (p *consumerPlayer) wait(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	end := p.now.Add(d)
	for {
		next := p.group.deadline()
		if next.IsZero() || next.After(end) {
			break
		}
		p.now = next
		p.group.tick(p.now)
		p.flush()
		if after := p.group.deadline(); !after.IsZero() && !after.After(p.now) {
			return fmt.Errorf("the deadline %v does not move", after.Sub(traceStart))
		}
	}
	p.now = end
	return nil
}

// flush prints what the group did.
func (p *consumerPlayer) flush() {
	if out := p.group.drain(); out.save {
		image := p.group.image(out.members, false)
		p.stored.save(image)
		p.print("%s", strings.Join(append([]string{"save"}, slices.Sorted(maps.Keys(image.members))...), " "))
	}
	if d := p.describe(); d != p.shown {
		p.shown = d
		p.print("%s", d)
	}
}

func (p *consumerPlayer) print(format string, a ...any) {
	fmt.Fprintf(&p.out, "  %6.1fs  %s\n", p.now.Sub(traceStart).Seconds(), fmt.Sprintf(format, a...))
}

func (p *consumerPlayer) describe() string {
	g := p.group
	s := fmt.Sprintf("= %v, epoch %d", g.state(), g.epoch)
	for _, m := range g.sorted() {
		s += fmt.Sprintf(" [%s %d %v", m.id, m.epoch, m.assigned)
		if len(m.revoking) > 0 {
			s += fmt.Sprintf(" - %v", m.revoking)
		}
		if !m.target.equal(m.assigned) {
			s += fmt.Sprintf(" > %v", m.target)
		}
		s += "]"
	}
	return s
}
