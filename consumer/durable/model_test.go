package durable

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is what every consumer promises, kept as simple sets.
type model struct {
	*bench
	tries map[uint64]int  // deliveries of each message
	acked map[uint64]bool // by the client, in time or late
	given map[uint64]bool // up, by the machine
	seen  map[uint64]bool // delivered at all
	first uint64          // sequence of the newest first delivery
	floor place
}

func TestMachineKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := mustConfig(t, fmt.Sprintf(`{"ack_policy":%q,"ack_wait":%d,"max_deliver":%d,"max_ack_pending":%d}`,
			rapid.SampledFrom([]AckPolicy{AckExplicit, AckAll}).Draw(t, "policy"), time.Second,
			rapid.SampledFrom([]int{-1, 1, 3}).Draw(t, "max_deliver"), rapid.SampledFrom([]int{-1, 1, 4}).Draw(t, "max_ack_pending")))
		if c.MaxDeliver == 3 && rapid.Bool().Draw(t, "backoff") {
			c.Backoff = []time.Duration{100 * time.Millisecond, 2 * time.Second}
		}
		m := &model{bench: newBench(c, true), tries: map[uint64]int{}, acked: map[uint64]bool{}, given: map[uint64]bool{}, seen: map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) { m.last += uint64(rapid.IntRange(1, 5).Draw(t, "n")) },
			"pull": func(t *rapid.T) {
				inbox := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "inbox")
				body := rapid.SampledFrom([]string{"", "3", `{"batch":2,"no_wait":true}`, `{"batch":4,"expires":300000000}`,
					`{"batch":3,"max_bytes":250,"expires":1000000000}`}).Draw(t, "body")
				m.machine.pull(inbox, []byte(body), m.now, &m.clients)
			},
			"ack": func(t *rapid.T) { m.respond(t, "") },
			"nak": func(t *rapid.T) {
				m.respond(t, rapid.SampledFrom([]string{"-NAK", "-NAK 50ms", `-NAK {"delay":5}`}).Draw(t, "nak"))
			},
			"wpi":  func(t *rapid.T) { m.respond(t, "+WPI") },
			"term": func(t *rapid.T) { m.respond(t, "+TERM") },
			"pass": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond)
			},
			"room": func(t *rapid.T) { m.clients.full["a"] = !m.clients.full["a"] },
			"away": func(t *rapid.T) { m.clients.away["b"] = !m.clients.away["b"] },
			"lost": func(t *rapid.T) {
				if e := m.pending.first(); e != nil && e.again == nil && e.deliveries > 0 {
					m.lost(e.stream)
					m.tries[e.stream]--
				}
			},
			"trim": func(t *rapid.T) {
				m.bench.first = min(m.bench.first+rapid.Uint64Range(0, 2).Draw(t, "n"), m.last+1)
				m.trimmed(m.bench.first, m.now)
				for s := uint64(1); s < m.bench.first; s++ {
					m.deleted[s] = true
				}
			},
			"delete": func(t *rapid.T) {
				if s := rapid.Uint64Range(1, m.last+1).Draw(t, "sequence"); s <= m.last {
					m.deleted[s] = true
				}
			},
			"crash": func(t *rapid.T) { m.restart() },
			"":      func(t *rapid.T) { m.step(t) },
		})
		m.drain(t)
	})
}

// respond acknowledges any delivery of any message, or gives it back.
func (m *model) respond(t *rapid.T, body string) {
	if len(m.bench.tries) == 0 {
		return
	}
	sequence := rapid.Uint64Range(1, m.delivered.stream+1).Draw(t, "sequence")
	try := rapid.IntRange(1, m.tries[sequence]+1).Draw(t, "try")
	subject := fmt.Sprintf("%sS.c.%d.%d.%d.0.0", ackPrefix, try, sequence, 1)
	delivered := sequence <= m.delivered.stream && (m.bench.tries[sequence] != "" || m.config.AckPolicy == AckAll)
	if err := m.answerTo(subject, body); (err == nil) != (sequence <= m.delivered.stream) {
		t.Fatalf("answer to %d: %v", sequence, err)
	}
	if body != "" && body != "+TERM" || !delivered {
		return
	}
	m.done(sequence)
}

// done notes that a message was acknowledged, with all before it if that is the policy.
func (m *model) done(sequence uint64) {
	m.acked[sequence] = true
	for s := range m.tries {
		if s < sequence && m.config.AckPolicy == AckAll {
			m.acked[s] = true
		}
	}
}

// restart saves the state and goes on with what was saved. Requests and what clients were told are lost.
func (m *model) restart() {
	saved := m.image()
	old := m.machine
	m.machine = newMachine(old.config, old.names, old.keep, old.newID, m.now)
	m.restore(saved.position)
	var sequences []uint64
	for e := old.pending.first(); e != nil; e = e.next() {
		sequences = append(sequences, e.stream)
	}
	for s := range old.givenUp {
		sequences = append(sequences, s)
	}
	slices.Sort(sequences)
	for _, s := range sequences {
		m.restoreEntry(s, *old.entryImage(s))
	}
}

// step delivers what can be delivered and checks it.
func (m *model) step(t *rapid.T) {
	m.run()
	for _, line := range m.log {
		m.see(t, line)
	}
	m.log = nil
	if f := m.machine.floor; f.stream < m.floor.stream || f.consumer < m.floor.consumer {
		t.Fatalf("the ack floor went from %v to %v", m.floor, f)
	}
	m.floor = m.machine.floor
	for s := uint64(1); s <= m.floor.stream; s++ {
		if !m.acked[s] && !m.given[s] && !m.deleted[s] {
			t.Fatalf("message %d is below the ack floor %v, and nobody is done with it", s, m.floor)
		}
	}
	for s := uint64(1); s <= m.last; s++ {
		if needed := m.needs(s); needed == m.acked[s] && !m.deleted[s] {
			t.Fatalf("message %d: acknowledged %v, needed %v", s, m.acked[s], needed)
		}
	}
	if most := m.config.MaxAckPending; most > 0 && m.pending.len() > most {
		t.Fatalf("%d messages pending, of at most %d", m.pending.len(), most)
	}
}

// see checks one line of what the machine did.
func (m *model) see(t *rapid.T, line string) {
	var inbox, rest string
	var sequence uint64
	if n, _ := fmt.Sscanf(line, "%s <- #%d %s", &inbox, &sequence, &rest); n == 3 {
		m.delivery(t, sequence, inbox)
		return
	}
	var deliveries int
	if n, _ := fmt.Sscanf(line, `MAX_DELIVERIES {"deliveries":%d,"stream_seq":%d}`, &deliveries, &sequence); n == 2 {
		if m.given[sequence] || m.acked[sequence] || deliveries < m.config.MaxDeliver {
			t.Fatalf("message %d was given up after %d deliveries (again: %v)", sequence, deliveries, m.given[sequence])
		}
		m.given[sequence] = true
	}
}

// skipsOne says that a message which is still there comes between the newest that was delivered and this one.
func (m *model) skipsOne(sequence uint64) bool {
	for s := m.first + 1; s < sequence; s++ {
		if !m.deleted[s] {
			return true
		}
	}
	return sequence <= m.first
}

func (m *model) delivery(t *rapid.T, sequence uint64, inbox string) {
	m.tries[sequence]++
	switch {
	case m.acked[sequence]:
		t.Fatalf("message %d was delivered after it was acknowledged", sequence)
	case m.config.MaxDeliver > 0 && m.tries[sequence] > m.config.MaxDeliver:
		t.Fatalf("message %d was delivered %d times", sequence, m.tries[sequence])
	case m.deleted[sequence]:
		t.Fatalf("message %d was delivered after it was deleted", sequence)
	case !m.seen[sequence] && m.skipsOne(sequence):
		t.Fatalf("message %d came first after %d", sequence, m.first)
	case m.clients.full[inbox], m.clients.away[inbox]:
		t.Fatalf("message %d went to %s, which takes none", sequence, inbox)
	}
	m.first = max(m.first, sequence)
	m.seen[sequence] = true
}

// drain acknowledges everything: then nothing is left.
func (m *model) drain(t *rapid.T) {
	m.clients = testClients{map[string]bool{}, map[string]bool{}}
	for i := 0; i < 1000 && m.machine.floor.stream < m.lastThere(); i++ {
		m.machine.pull("a", []byte("10"), m.now, &m.clients)
		m.now = m.now.Add(100 * time.Millisecond)
		m.step(t)
		for e := m.pending.first(); e != nil; e = m.pending.first() {
			m.done(e.stream)
			if err := m.answer(e.stream, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.step(t)
	if m.machine.floor.stream < m.lastThere() {
		t.Fatalf("after everything was acknowledged the floor is %v, of %d messages", m.machine.floor, m.last)
	}
}

// lastThere is the newest message that was not deleted.
func (m *model) lastThere() uint64 {
	s := m.last
	for s > 0 && m.deleted[s] {
		s--
	}
	return s
}
