package consumer

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the traces anew")

// An actor plays the commands of a trace.
type actor interface {
	command(words []string) error
	written() *strings.Builder
}

// playTraces plays the files of a directory: a line that does not start with a blank is a command to one group, the
// indented lines after it are all that the group does. Times count from the start of the file.
func playTraces(t *testing.T, dir string, newActor func() actor) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want), newActor())
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(want) && !*update {
				t.Errorf("%s differs; run with -update and look at the difference:\n%s", name, got)
			}
		})
	}
}

func play(t *testing.T, script string, a actor) string {
	out := a.written()
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := a.command(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return out.String()
}

// TestClassicTraces plays commands to a classic group:
//
//	settings [delay=D] [max=N]
//	join CLIENT [id=ID] [instance=I] [type=T] [PROTOCOL=SUBSCRIPTION ...] [session=D] [rebalance=D] [v0|v4|v9]
//	sync ID gen=N [instance=I] [type=T] [protocol=P] [MEMBER=ASSIGNMENT ...]
//	heartbeat ID gen=N [instance=I]
//	commit [ID] [gen=N] [instance=I]
//	leave [ID ...] [instance=I ...]
//	wait D      lets time pass, with every deadline on the way
//	restart     goes on with what was saved last
func TestClassicTraces(t *testing.T) {
	playTraces(t, "classic", func() actor { return newPlayer() })
}

var traceStart = time.UnixMilli(1_000_000_000_000)

// player drives one group by commands.
type player struct {
	group    *classicGroup
	settings Settings
	now      time.Time
	saved    []byte
	last     token
	names    map[token]string // of parked requests
	fresh    int
	shown    string // the last description of the group
	out      strings.Builder
}

func newPlayer() *player {
	s := DefaultSettings()
	return &player{group: newClassicGroup(s), settings: s, now: traceStart, names: map[token]string{}}
}

// args are the words of a command: plain ones, and key=value pairs.
type args struct {
	plain []string
	pairs [][2]string
}

func (a *args) take(key, otherwise string) string {
	for i, p := range a.pairs {
		if p[0] == key {
			a.pairs = slices.Delete(a.pairs, i, i+1)
			return p[1]
		}
	}
	return otherwise
}

func (a *args) duration(key, otherwise string) time.Duration {
	d, err := time.ParseDuration(a.take(key, otherwise))
	if err != nil {
		panic(err)
	}
	return d
}

func (a *args) number(key, otherwise string) int {
	n, err := strconv.Atoi(a.take(key, otherwise))
	if err != nil {
		panic(err)
	}
	return n
}

func (a *args) first() string {
	if len(a.plain) == 0 {
		return ""
	}
	return a.plain[0]
}

func newArgs(words []string) *args {
	a := &args{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.pairs = append(a.pairs, [2]string{k, v})
		} else {
			a.plain = append(a.plain, w)
		}
	}
	return a
}

func (p *player) written() *strings.Builder { return &p.out }

func (p *player) command(words []string) error {
	a := newArgs(words[1:])
	switch words[0] {
	case "settings":
		p.settings.InitialDelay = a.duration("delay", "3s")
		p.settings.MaxMembers = a.number("max", "10000")
		p.group = newClassicGroup(p.settings)
	case "join":
		p.join(a)
	case "sync":
		p.sync(a)
	case "heartbeat":
		p.print("%s", outcome(p.group.heartbeat(a.first(), a.take("instance", ""), int32(a.number("gen", "0")), p.now)))
	case "commit":
		r := &CommitRequest{MemberID: a.first(), InstanceID: a.take("instance", ""), Generation: int32(a.number("gen", "-1"))}
		_, err := p.group.mayCommit(r, p.now)
		p.print("%s", outcome(err))
	case "leave":
		p.leave(a)
	case "wait":
		return p.wait(a.first())
	case "restart":
		g, err := decodeClassic(p.saved, p.settings, p.now)
		if err != nil {
			return err
		}
		p.group, p.names = g, map[token]string{}
	default:
		return fmt.Errorf("unknown command")
	}
	p.flush()
	return nil
}

func (p *player) join(a *args) {
	r := &JoinRequest{
		ClientID:         a.first(),
		MemberID:         a.take("id", ""),
		InstanceID:       a.take("instance", ""),
		ProtocolType:     a.take("type", "consumer"),
		SessionTimeout:   a.duration("session", "10s"),
		RebalanceTimeout: a.duration("rebalance", "60s"),
		RequireMemberID:  slices.Contains(a.plain, "v4") || slices.Contains(a.plain, "v9"),
		CanSkip:          slices.Contains(a.plain, "v9"),
	}
	if slices.Contains(a.plain, "v0") {
		r.RebalanceTimeout = 0
	}
	for _, kv := range a.pairs {
		r.Protocols = append(r.Protocols, Protocol{kv[0], []byte(kv[1])})
	}
	if len(r.Protocols) == 0 {
		r.Protocols = []Protocol{{"range", []byte(r.ClientID)}}
	}
	p.fresh++
	p.group.join(r, p.park("join "+r.ClientID), fmt.Sprintf("%s-%d", r.ClientID, p.fresh), p.now)
}

func (p *player) sync(a *args) {
	r := &SyncRequest{
		MemberID:     a.first(),
		InstanceID:   a.take("instance", ""),
		Generation:   int32(a.number("gen", "0")),
		ProtocolType: a.take("type", ""),
		Protocol:     a.take("protocol", ""),
		Assignments:  map[string][]byte{},
	}
	for _, kv := range a.pairs {
		r.Assignments[kv[0]] = []byte(kv[1])
	}
	p.group.sync(r, p.park("sync "+r.MemberID), p.now)
}

func (p *player) leave(a *args) {
	var refs []MemberRef
	for _, id := range a.plain {
		refs = append(refs, MemberRef{MemberID: id})
	}
	for _, kv := range a.pairs {
		refs = append(refs, MemberRef{InstanceID: kv[1]})
	}
	for i, err := range p.group.leave(refs, p.now) {
		p.print("%s%s: %s", refs[i].MemberID, refs[i].InstanceID, outcome(err))
	}
}

// wait lets time pass, and stops at each deadline.
func (p *player) wait(text string) error {
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

func (p *player) park(name string) token {
	p.last++
	p.names[p.last] = name
	return p.last
}

// flush prints what the group did.
func (p *player) flush() {
	out := p.group.drain()
	if out.save {
		p.saved = encodeClassic(p.group)
		p.print("save")
	}
	answered := map[token]bool{}
	for _, r := range out.replies {
		p.print("%s #%d: %s", p.names[r.to], r.to, r.text())
		answered[r.to] = true
	}
	for to := range answered {
		delete(p.names, to)
	}
	if d := p.describe(); d != p.shown {
		p.shown = d
		p.print("%s", d)
	}
}

func (p *player) print(format string, a ...any) {
	fmt.Fprintf(&p.out, "  %6.1fs  %s\n", p.now.Sub(traceStart).Seconds(), fmt.Sprintf(format, a...))
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return strings.TrimPrefix(err.Error(), "consumer: ")
}

func (r reply) text() string {
	switch {
	case r.err != nil && r.join != nil:
		return outcome(r.err) + ", " + r.join.MemberID
	case r.err != nil:
		return outcome(r.err)
	case r.sync != nil:
		return fmt.Sprintf("assigned %q, %s %s", r.sync.Assignment, r.sync.ProtocolType, r.sync.Protocol)
	}
	s := fmt.Sprintf("%s in generation %d, %s %s, leader %s", r.join.MemberID, r.join.Generation, r.join.ProtocolType,
		r.join.Protocol, r.join.Leader)
	if r.join.SkipAssignment {
		s += ", skip assignment"
	}
	for _, m := range r.join.Members {
		s += fmt.Sprintf(" [%s %s %s]", m.MemberID, m.InstanceID, m.Metadata)
	}
	return s
}

// describe is one line about the group; a star marks members whose join is parked.
func (p *player) describe() string {
	g := p.group
	s := fmt.Sprintf("= %v, generation %d", g.state, g.generation)
	if g.leader != "" {
		s += ", leader " + g.leader
	}
	for _, m := range g.sorted() {
		s += " " + m.id
		if m.join != 0 {
			s += "*"
		}
	}
	if len(g.pending) > 0 {
		s += fmt.Sprintf(", %d pending", len(g.pending))
	}
	return s
}
