package durable

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A trace is a conversation with the machine: commands, each followed by what the machine did, indented. The test says the
// commands again and compares; with -update it writes the answers down anew. Commands:
//
//	consumer JSON      a new consumer with this configuration; keep in front for a stream that keeps what is not acknowledged
//	publish N          N more messages
//	size N             of each message from now on
//	every D            the messages were published so far apart
//	pull INBOX BODY    a pull request
//	SEQUENCE BODY      an acknowledgement of the newest delivery of a message
//	ack SUBJECT BODY   an acknowledgement of any delivery: what follows the consumer's name
//	+D                 time passes; what is due is done at the time when it is due
//	away INBOX, here INBOX, full INBOX, room INBOX
//	delete SEQUENCE, trim FIRST, reset SEQUENCE, lost SEQUENCE, unpin, fc ID, configure JSON
//	start NEXT SKIP... from another place; with SKIP these messages first, and then what follows the last published one
//	state              tells where the machine stands

var update = flag.Bool("update", false, "write the traces anew")

func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces: ", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			old, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			now := replay(t, string(old))
			if *update {
				if err := os.WriteFile(name, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(old, []byte(now)) {
				t.Errorf("the machine answers otherwise; see the difference after go test -run TestTraces -update\n%s", now)
			}
		})
	}
}

func replay(t *testing.T, script string) string {
	var out strings.Builder
	var b *bench
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		b = say(t, b, line)
		for _, said := range b.log {
			out.WriteString("  " + said + "\n")
		}
		b.log = nil
	}
	return out.String()
}

func number(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func say(t *testing.T, b *bench, line string) *bench {
	verb, rest, _ := strings.Cut(line, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch {
	case verb == "consumer":
		return newBench(mustConfig(t, rest), false)
	case verb == "keep":
		return newBench(mustConfig(t, strings.TrimPrefix(rest, "consumer ")), true)
	case verb[0] == '+':
		d, err := time.ParseDuration(verb[1:])
		if err != nil {
			t.Fatal(err)
		}
		b.pass(d)
		return b
	case verb[0] >= '0' && verb[0] <= '9':
		if err := b.answer(number(t, verb), rest); err != nil {
			b.log = append(b.log, err.Error())
		}
	case verb == "ack":
		if err := b.answerTo(ackPrefix+"S.c."+first, second); err != nil {
			b.log = append(b.log, err.Error())
		}
	case verb == "pull":
		b.machine.pull(first, []byte(second), b.now, &b.clients)
		b.collect()
	case verb == "state":
		b.log = append(b.log, b.summary())
		return b
	default:
		b.order(t, verb, first, rest)
	}
	b.run()
	return b
}

func (b *bench) order(t *testing.T, verb, first, rest string) {
	switch verb {
	case "publish":
		b.last += number(t, first)
	case "size":
		b.size = int(number(t, first))
	case "every":
		b.every, _ = time.ParseDuration(first)
	case "away":
		b.clients.away[first] = true
	case "here":
		delete(b.clients.away, first)
	case "full":
		b.clients.full[first] = true
	case "room":
		delete(b.clients.full, first)
	case "delete":
		b.deleted[number(t, first)] = true
	case "trim":
		b.first = number(t, first)
		b.trimmed(b.first, b.now)
	case "reset":
		b.reset(start{next: number(t, first)}, b.now)
	case "lost":
		b.lost(number(t, first))
	case "unpin":
		b.unpin("admin", b.now)
	case "fc":
		b.window.answered(first)
	case "configure":
		b.configure(mustConfig(t, rest), b.now)
	case "replayed":
		b.pace.begin(b.last)
	case "start":
		s := start{next: number(t, first)}
		for _, seq := range strings.Fields(rest)[1:] {
			s.skip, s.resume = append(s.skip, number(t, seq)), b.last
		}
		b.begin(s)
	default:
		t.Fatal("unknown command ", verb)
	}
	b.collect()
}

// pass lets time pass, and does on the way what is due.
func (b *bench) pass(d time.Duration) {
	until := b.now.Add(d)
	for steps := 0; ; steps++ {
		next := b.deadline(b.now)
		if next.IsZero() || next.After(until) || steps > 1000 {
			break
		}
		if next.After(b.now) {
			b.now = next
		}
		before := len(b.log)
		b.run()
		for i := before; i < len(b.log); i++ {
			b.log[i] = fmt.Sprintf("%v: %s", b.now.Sub(start0()), b.log[i])
		}
	}
	b.now = until
	b.run()
}
