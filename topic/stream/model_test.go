package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log"
	"brokerd/topic/subject"
)

// kept is a message of the model.
type kept struct {
	sequence      uint64
	subject, data string
}

func (k kept) String() string { return fmt.Sprintf("%d %s %s", k.sequence, k.subject, k.data) }

// model is what a stream should hold.
type model struct {
	conf Config
	list []kept
	last uint64
	ids  map[string]uint64
	lost map[string]bool // ids of messages that were gone before a restart: nobody knows whether they are remembered
}

// restart says that ids are remembered of what is stored only.
func (m *model) restart() {
	m.lost = make(map[string]bool)
	for id, sequence := range m.ids {
		m.lost[id] = !slices.ContainsFunc(m.list, func(k kept) bool { return k.sequence == sequence })
	}
}

func (m *model) count(subject string) (n int) {
	for _, k := range m.list {
		if k.subject == subject {
			n++
		}
	}
	return n
}

func (m *model) newest(filter string) (last uint64) {
	for _, k := range m.list {
		if subject.Match(filter, k.subject) {
			last = k.sequence
		}
	}
	return last
}

// refuses says why a message is not stored.
func (m *model) refuses(subject string, rollup bool) string {
	if m.conf.Discard != DiscardNew {
		return ""
	}
	full := m.conf.MaxMsgsPer > 0 && m.count(subject) >= int(m.conf.MaxMsgsPer)
	switch {
	case full && m.conf.DiscardPer && !rollup:
		return errMaxMessagesPerSubject.Error()
	case m.conf.MaxMsgs > 0 && len(m.list) >= int(m.conf.MaxMsgs) && !full:
		return errMaxMessages.Error()
	}
	return ""
}

// store appends a message and removes what has to go.
func (m *model) store(subject, data, rollup string) {
	m.last++
	m.list = append(m.list, kept{m.last, subject, data})
	keep := m.conf.MaxMsgsPer
	switch rollup {
	case "all":
		m.list = m.list[len(m.list)-1:]
	case "sub":
		keep = 1
	}
	for keep > 0 && m.count(subject) > int(keep) {
		i := slices.IndexFunc(m.list, func(k kept) bool { return k.subject == subject })
		m.list = slices.Delete(m.list, i, i+1)
	}
	m.fit()
}

func (m *model) fit() {
	if over := len(m.list) - int(m.conf.MaxMsgs); m.conf.MaxMsgs > 0 && over > 0 {
		m.list = m.list[over:]
	}
}

func (m *model) limit() {
	for _, k := range slices.Clone(m.list) {
		if m.conf.MaxMsgsPer > 0 && m.count(k.subject) > int(m.conf.MaxMsgsPer) {
			m.list = slices.DeleteFunc(m.list, func(o kept) bool { return o == k })
		}
	}
	m.fit()
}

// purge removes and counts.
func (m *model) purge(p Purge) (n uint64) {
	matches := func(k kept) bool {
		return (p.Filter == "" || subject.Match(p.Filter, k.subject)) && (p.Below == 0 || k.sequence < p.Below)
	}
	var total uint64
	for _, k := range m.list {
		if matches(k) {
			total++
		}
	}
	total -= min(total, p.Keep)
	m.list = slices.DeleteFunc(m.list, func(k kept) bool {
		if matches(k) && n < total {
			n++
			return true
		}
		return false
	})
	return n
}

// duel is the stream and the model, side by side.
type duel struct {
	*live
	t *rapid.T
	m model
	n int
}

var modelSubjects = []string{"s.a", "s.b", "s.c.d", "s.c.e", "s"}

func TestStreamAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "model")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		d := &duel{t: t, live: newLiveIn(t, dir, t.Cleanup)}
		d.m.ids, d.m.lost = make(map[string]uint64), make(map[string]bool)
		limit := rapid.SampledFrom([]int64{-1, -1, 1, 3, 8})
		conf := Config{
			Name: "S", Subjects: []string{"s", "s.>"}, MaxMsgs: limit.Draw(t, "max_msgs"), MaxMsgsPer: limit.Draw(t, "per subject"),
			AllowRollup: true, Discard: rapid.SampledFrom([]Discard{DiscardOld, DiscardNew}).Draw(t, "discard"),
			Compression: rapid.SampledFrom([]Compression{Uncompressed, S2}).Draw(t, "compression"),
		}
		conf.DiscardPer = conf.Discard == DiscardNew && conf.MaxMsgsPer > 0 && rapid.Bool().Draw(t, "new per subject")
		d.create(conf)
		d.m.conf = conf
		t.Repeat(map[string]func(*rapid.T){
			"":         d.compare,
			"publish":  d.publishOne,
			"publish2": d.publishOne,
			"produce":  d.produce,
			"delete":   d.remove,
			"purge":    d.purgeSome,
			"limit":    d.changeLimit,
			"restart": func(*rapid.T) {
				d.restart()
				d.m.restart()
			},
			"crash": func(t *rapid.T) {
				d.powerFailure(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
				d.m.restart()
			},
		})
	})
}

func (d *duel) publishOne(t *rapid.T) {
	s := d.stream("S")
	name := rapid.SampledFrom(modelSubjects).Draw(t, "subject")
	d.n++
	data := strconv.Itoa(d.n)
	var header []string
	var want string // the error
	rollup := rapid.SampledFrom([]string{"", "", "", "sub", "all"}).Draw(t, "rollup")
	if rollup != "" {
		header = append(header, headerRollup, rollup)
	}
	if rapid.IntRange(0, 3).Draw(t, "conditional") == 0 {
		seq := d.m.newest(name)
		if rapid.Bool().Draw(t, "wrong") {
			want = WrongLastSequence(seq).Error()
			seq++
		}
		header = append(header, headerExpectedLast, strconv.FormatUint(seq, 10))
	}
	id := rapid.SampledFrom([]string{"", "", "i", "j"}).Draw(t, "id")
	if id != "" {
		header = append(header, headerID, id)
	}
	first, duplicate := d.m.ids[id]
	a := d.await(send(s, name, data, header...))
	duplicate = duplicate && (a.Duplicate || !d.m.lost[id])
	switch refused := d.m.refuses(name, rollup != ""); {
	case want != "":
		if a.err == nil || a.err.Error() != want {
			t.Fatalf("got %+v, want %s", a, want)
		}
	case duplicate:
		if !a.Duplicate || a.Sequence != first || a.err != nil {
			t.Fatalf("got %+v, want the duplicate of %d", a, first)
		}
	case refused != "":
		if !errors.Is(a.err, StoreFailed(errMaxBytes)) || a.err.(*Error).Description != refused {
			t.Fatalf("got %+v, want %s", a, refused)
		}
	case a.err != nil || a.Duplicate || a.Sequence != d.m.last+1:
		t.Fatalf("got %+v, want sequence %d", a, d.m.last+1)
	default:
		d.m.store(name, data, rollup)
		if id != "" {
			d.m.ids[id] = d.m.last
			d.m.lost[id] = false
		}
	}
}

// produce appends as a Kafka client does.
func (d *duel) produce(t *rapid.T) {
	top, _ := d.stream("S").Topic()
	p := top.Partitions()[0]
	builder := log.Builder{Codec: rapid.SampledFrom([]log.Codec{log.NoCodec, log.Zstd}).Draw(t, "codec")}
	var list []kept
	for range rapid.IntRange(1, 3).Draw(t, "records") {
		d.n++
		name := rapid.SampledFrom(modelSubjects).Draw(t, "key")
		list = append(list, kept{0, name, strconv.Itoa(d.n)})
		builder.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(name), Value: []byte(strconv.Itoa(d.n))})
	}
	b, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	at, err := p.Append(b)
	full := d.m.conf.Discard == DiscardNew && d.m.conf.MaxMsgs > 0 && len(d.m.list)+len(list) > int(d.m.conf.MaxMsgs)
	if full {
		if err == nil || !strings.Contains(err.Error(), errMaxMessages.Error()) {
			t.Fatalf("a full stream took a batch: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitDurable(t.Context(), at.Last); err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		d.m.store(k.subject, k.data, "")
	}
}

func (d *duel) remove(t *rapid.T) {
	sequence := rapid.Uint64Range(0, d.m.last+1).Draw(t, "sequence")
	err := d.stream("S").Delete(sequence, false)
	i := slices.IndexFunc(d.m.list, func(k kept) bool { return k.sequence == sequence })
	if i < 0 {
		if err == nil || err.Error() != NoSequence(sequence).Error() {
			t.Fatalf("delete %d, which is not there: %v", sequence, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	d.m.list = slices.Delete(d.m.list, i, i+1)
}

func (d *duel) purgeSome(t *rapid.T) {
	p := Purge{Filter: rapid.SampledFrom([]string{"", "s.*", "s.c.>", "s.a", "x"}).Draw(t, "filter")}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		p.Below = rapid.Uint64Range(0, d.m.last+1).Draw(t, "below")
	case 1:
		p.Keep = rapid.Uint64Range(0, 3).Draw(t, "keep")
	}
	n, err := d.stream("S").Purge(p)
	if want := d.m.purge(p); err != nil || n != want {
		t.Fatalf("purged %d, %v, want %d", n, err, want)
	}
}

func (d *duel) changeLimit(t *rapid.T) {
	next := d.m.conf
	next.MaxMsgs = rapid.SampledFrom([]int64{-1, 1, 3, 8}).Draw(t, "max_msgs")
	if _, err := d.Update(next, false); err != nil {
		t.Fatal(err)
	}
	d.m.conf = next
	d.m.limit()
}

func (d *duel) compare(t *rapid.T) {
	s := d.stream("S")
	var want []string
	bySubject := make(map[string]uint64)
	for _, k := range d.m.list {
		want = append(want, k.String())
		bySubject[k.subject]++
	}
	if got := d.held(s); !slices.Equal(got, want) {
		t.Fatalf("holds %q, want %q", got, want)
	}
	st := d.state(s)
	first := d.m.last + 1
	if len(want) > 0 {
		first = d.m.list[0].sequence
	} else if d.m.last == 0 {
		first = 0
	}
	deleted := 0
	if len(want) > 0 {
		deleted = int(d.m.last-first) + 1 - len(want)
	}
	if st.Messages != uint64(len(want)) || st.First != first || st.Last != d.m.last || st.Subjects != len(bySubject) ||
		st.Deleted != deleted || st.FirstTime.IsZero() != (len(want) == 0) {
		t.Fatalf("state %+v, want %d messages from %d to %d of %d subjects, %d deleted", st, len(want), first, d.m.last, len(bySubject), deleted)
	}
	if list, err := s.Deleted(1 << 20); err != nil || len(list) != deleted {
		t.Fatalf("deleted %d, %v, want %d", list, err, deleted)
	}
	if got, err := s.Subjects(""); err != nil || fmt.Sprint(got) != fmt.Sprint(bySubject) {
		t.Fatalf("subjects %v, %v, want %v", got, err, bySubject)
	}
	d.compareFilters(t, s)
	d.compareLog(t, s, want)
}

func (d *duel) compareFilters(t *rapid.T, s *Stream) {
	from := rapid.Uint64Range(0, d.m.last+2).Draw(t, "from")
	for _, filters := range [][]string{nil, {"s.a"}, {"s.*"}, {"s.a", "s.c.>"}, {"x"}, {"*.c.e"}} {
		var next, pending uint64
		newest := make(map[string]uint64)
		for _, k := range d.m.list {
			if len(filters) > 0 && !slices.ContainsFunc(filters, func(f string) bool { return subject.Match(f, k.subject) }) {
				continue
			}
			if k.sequence <= from {
				newest[k.subject] = k.sequence
			}
			if k.sequence < from {
				continue
			}
			if pending++; next == 0 {
				next = k.sequence
			}
		}
		if got, ok := s.Next(from, filters); ok != (next > 0) || ok && got != next {
			t.Fatalf("next %v from %d: %d, %v, want %d", filters, from, got, ok, next)
		}
		if got := s.Pending(from, filters); got != pending {
			t.Fatalf("pending %v from %d: %d, want %d", filters, from, got, pending)
		}
		var want []uint64
		for _, sequence := range newest {
			want = append(want, sequence)
		}
		slices.Sort(want)
		if got := s.LastPerSubject(filters, from); !slices.Equal(got, want) {
			t.Fatalf("last per subject %v up to %d: %d, want %d", filters, from, got, want)
		}
	}
}

// compareLog looks at the stream as Kafka clients do. They may see what is before the first message a little longer.
func (d *duel) compareLog(t *rapid.T, s *Stream, want []string) {
	first := uint64(1) << 63
	if len(d.m.list) > 0 {
		first = d.m.list[0].sequence
	}
	seen := func() []string {
		return slices.DeleteFunc(d.kafka(s), func(line string) bool {
			number, _, _ := strings.Cut(line, " ")
			sequence, _ := strconv.ParseUint(number, 10, 64)
			return sequence < first
		})
	}
	d.until(fmt.Sprintf("the log has %q", want), func() bool { return slices.Equal(seen(), want) })
}
