package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// part is one message of a batch: its number, how it commits, its subject, and other headers.
type part struct {
	number          int
	commit, subject string
	header          []string
}

func (l *live) batch(s *Stream, id string, parts ...part) (last answer) {
	l.t.Helper()
	for _, p := range parts {
		header := append([]string{headerBatch, id, headerBatchSequence, strconv.Itoa(p.number)}, p.header...)
		if p.commit != "" {
			header = append(header, headerBatchCommit, p.commit)
		}
		if last = l.await(send(s, p.subject, "data", header...)); last.err != nil {
			return last
		}
		if p.commit == "" && !last.Pending {
			l.t.Fatalf("message %d of a batch: %+v", p.number, last)
		}
	}
	return last
}

func TestBatchIsStoredAsAWhole(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowAtomic: true})
	a := b.batch(s, "one", part{1, "", "s.a", nil}, part{2, "", "s.b", nil})
	if st := b.state(s); st.Messages != 0 {
		t.Fatalf("an open batch shows: %+v", st)
	}
	a = b.batch(s, "one", part{3, "1", "s.a", nil})
	if a.Batch != "one" || a.Count != 3 || a.Sequence != 3 || a.err != nil {
		t.Fatalf("committed: %+v", a)
	}
	a = b.batch(s, "two", part{1, "", "s.a", nil}, part{2, "eob", "s.b", nil})
	if a.Batch != "two" || a.Count != 1 || a.Sequence != 4 || a.err != nil {
		t.Fatalf("committed by its end: %+v", a)
	}
	m, err := s.Get(4)
	if err != nil || !strings.Contains(string(m.Header), headerBatchCommit+": 1\r\n") {
		t.Errorf("the last message: %q, %v", m.Header, err)
	}
	b.powerFailure(rand.New(rand.NewPCG(1, 1)))
	if got := b.state(b.stream("S")); got.Messages != 4 {
		t.Errorf("after a crash: %+v", got)
	}
}

func TestBatchIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		parts []part
		want  error
	}{
		"a gap":                 {[]part{{1, "", "s.a", nil}, {3, "1", "s.a", nil}}, ErrAtomicIncomplete},
		"no begin":              {[]part{{2, "1", "s.a", nil}}, ErrAtomicIncomplete},
		"nothing but an end":    {[]part{{1, "eob", "s.a", nil}}, ErrAtomicIncomplete},
		"too far":               {[]part{{1001, "", "s.a", nil}}, AtomicTooLarge(1000)},
		"a word":                {[]part{{1, "yes", "s.a", nil}}, ErrAtomicCommit},
		"a duplicate in it":     {[]part{{1, "", "s.b", []string{headerID, "i"}}, {2, "1", "s.c", []string{headerID, "i"}}}, ErrAtomicDuplicate},
		"a duplicate before it": {[]part{{1, "", "s.b", nil}, {2, "1", "s.a", []string{headerID, "x"}}}, ErrAtomicDuplicate},
		"an expected id":        {[]part{{1, "1", "s.a", []string{headerExpectedID, "x"}}}, AtomicHeader(headerExpectedID)},
		"a later expectation":   {[]part{{1, "", "s.b", nil}, {2, "1", "s.c", []string{headerExpectedSequence, "2"}}}, ErrWrongLastSequence},
		"an own subject":        {[]part{{1, "", "s.b", nil}, {2, "1", "s.b", []string{headerExpectedLast, "2"}}}, ErrWrongLastSequence},
		"a wrong expectation":   {[]part{{1, "", "s.b", nil}, {2, "1", "s.a", []string{headerExpectedLast, "0"}}}, WrongLastSequence(1)},
		"a full subject":        {[]part{{1, "", "s.b", nil}, {2, "1", "s.b", nil}}, StoreFailed(errMaxMessagesPerSubject)},
		"a late rollup":         {[]part{{1, "", "s.b", nil}, {2, "1", "s.b", []string{headerRollup, "sub"}}}, RollupFailed(errors.New("batch rollup sub invalid"))},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLive(t)
			s := b.create(Config{
				Name: "S", Subjects: []string{"s.*"}, AllowAtomic: true, AllowRollup: true,
				Discard: DiscardNew, DiscardPer: true, MaxMsgsPer: 1,
			})
			b.publish(s, "s.a", "1", headerID, "x")
			a := b.batch(s, "b", c.parts...)
			if fmt.Sprint(a.err) != c.want.Error() {
				t.Errorf("got %+v, want %v", a, c.want)
			}
			if got := b.held(s); !slices.Equal(got, []string{"1 s.a 1"}) {
				t.Errorf("holds %q", got)
			}
			if got := b.publish(s, "s.b", "2", headerExpectedID, "x"); got != 2 {
				t.Errorf("the next sequence is %d", got)
			}
		})
	}
}

func TestManyOpenBatches(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s"}, AllowAtomic: true})
	for i := range maxOpenBatches {
		if a := b.batch(s, strconv.Itoa(i), part{1, "", "s", nil}); a.err != nil {
			t.Fatal(a.err)
		}
	}
	if a := b.batch(s, "more", part{1, "", "s", nil}); a.err != ErrAtomicTooMany {
		t.Errorf("one more: %+v", a)
	}
	if a := b.batch(s, "7", part{2, "1", "s", nil}); a.err != nil || a.Count != 2 {
		t.Errorf("one of them: %+v", a)
	}
	if a := b.batch(s, strings.Repeat("x", 65), part{1, "", "s", nil}); a.err != ErrAtomicID {
		t.Errorf("a long id: %+v", a)
	}
}
