package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fastSend publishes a message of a fast batch; everything that the client hears is written to heard.
func fastSend(s *Stream, heard chan string, id, gaps string, every, number int, operation, data string) {
	p := Publication{Subject: "s." + data, Data: []byte(data), Reply: fmt.Sprintf("_INBOX.x.%s.%d.%s.%d.%s.$FI", id, every, gaps, number, operation)}
	p.Flow = func(answer []byte) { heard <- string(answer) }
	p.Done = func(r Receipt, err error) {
		switch {
		case err != nil:
			heard <- err.Error()
		case !r.Silent:
			heard <- fmt.Sprintf("%s: %d messages, the last is %d", r.Batch, r.Count, r.Sequence)
		}
		heard <- "."
	}
	s.Publish(p)
}

// Each line of a case is a message, "NUMBER OPERATION DATA", after which the client waits for its answers.
func TestFastBatch(t *testing.T) {
	const e = `{"type":"err","seq":%d,"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}`
	for name, c := range map[string]struct {
		gaps  string
		sent  []string
		heard []string
		holds int
	}{
		"commit": {"fail", []string{"1 0 a", "2 1 b", "3 1 c", "4 2 d"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"ack","seq":2,"msgs":2}`, "B: 4 messages, the last is 4",
		}, 4},
		"end": {"fail", []string{"1 0 a", "2 1 b", "3 3 -"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"ack","seq":2,"msgs":2}`, "B: 2 messages, the last is 2",
		}, 2},
		"one message": {"fail", []string{"1 2 a"}, []string{"B: 1 messages, the last is 1"}, 1},
		"a gap": {"fail", []string{"1 0 a", "3 1 c"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"gap","last_seq":2,"seq":3}`, "B: 1 messages, the last is 1",
		}, 1},
		"a gap that is no matter": {"ok", []string{"1 0 a", "3 1 c", "4 2 d"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"gap","last_seq":2,"seq":3}`, `{"type":"ack","seq":2,"msgs":2}`, "B: 4 messages, the last is 3",
		}, 3},
		"a ping": {"fail", []string{"1 0 a", "1 4 -", "2 2 b"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"ack","seq":0,"msgs":2}`, "B: 2 messages, the last is 2",
		}, 2},
		"a ping finds a gap": {"fail", []string{"1 0 a", "2 4 -", "2 1 b"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, `{"type":"gap","last_seq":2,"seq":3}`, "B: 1 messages, the last is 1", ErrBatchUnknown.Error(),
		}, 1},
		"no begin":       {"fail", []string{"2 1 a"}, []string{ErrBatchUnknown.Error()}, 0},
		"no pattern":     {"maybe", []string{"1 0 a"}, []string{ErrBatchPattern.Error()}, 0},
		"a later error":  {"fail", []string{"1 0 a", "2 1 long"}, []string{`{"type":"ack","seq":0,"msgs":2}`, ErrMessageTooLarge.Error()}, 1},
		"no other error": {"ok", []string{"1 0 a", "2 1 b", "3 2 long"}, []string{`{"type":"ack","seq":0,"msgs":2}`, `{"type":"ack","seq":2,"msgs":2}`, ErrMessageTooLarge.Error()}, 2},
		"an error":       {"fail", []string{"1 0 full"}, []string{`{"type":"ack","seq":0,"msgs":2}`, "maximum messages per subject exceeded (10077)"}, 0},
		"an error in between": {"fail", []string{"1 0 a", "2 1 a", "3 1 c"}, []string{
			`{"type":"ack","seq":0,"msgs":2}`, strings.Replace(strings.Replace(fmt.Sprintf(e, 2), "400", "503", 1), `10054,"description":"message size exceeds maximum allowed"`, `10077,"description":"maximum messages per subject exceeded"`, 1),
			"B: 1 messages, the last is 1", ErrBatchUnknown.Error(),
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLive(t)
			s := b.create(Config{
				Name: "S", Subjects: []string{"s.*"}, AllowBatched: true, MaxMsgSize: 4, Discard: DiscardNew, DiscardPer: true, MaxMsgsPer: 1,
			})
			if name == "a later error" || name == "no other error" {
				conf := s.Config()
				conf.MaxMsgSize = 3
				s.configure(conf)
			}
			before := 0
			if name == "an error" {
				b.publish(s, "s.full", "full")
				before = 1
			}
			heard := make(chan string, 100)
			var got []string
			for _, line := range c.sent {
				var number int
				var operation, data string
				fmt.Sscan(line, &number, &operation, &data)
				fastSend(s, heard, "B", c.gaps, 2, number, operation, data)
				for {
					word := <-heard
					if word == "." {
						break
					}
					got = append(got, word)
				}
			}
			if !slices.Equal(got, c.heard) {
				t.Errorf("heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.heard, "\n"))
			}
			if n := b.state(s).Messages; n != uint64(c.holds+before) {
				t.Errorf("holds %d messages, want %d", n, c.holds)
			}
		})
	}
}

// A client that sends many at once hears of all of them.
func TestFastBatchInFlight(t *testing.T) {
	b := newLive(t)
	s := b.create(Config{Name: "S", Subjects: []string{"s.*"}, AllowBatched: true})
	heard := make(chan string, 10_000)
	const n = 2000
	for i := 1; i <= n; i++ {
		operation := fastAppend
		if i == 1 {
			operation = fastStart
		} else if i == n {
			operation = fastCommit
		}
		fastSend(s, heard, "B", "fail", 100, i, operation, "x")
	}
	var last string
	for done := 0; done < n; {
		if word := <-heard; word == "." {
			done++
		} else {
			last = word
		}
	}
	if want := fmt.Sprintf("B: %d messages, the last is %d", n, n); last != want {
		t.Errorf("heard %s last, want %s", last, want)
	}
}
