package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tools runs command lines against one broker.
type tools struct {
	t      *testing.T
	server string
}

func newTools(t *testing.T) tools { return tools{t, startBroker(t)} }

// run executes one command line. It returns what was printed and the exit code.
func (s tools) run(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	code = execute(ctx, append(args, "--server", s.server), strings.NewReader(stdin), &out, &errOut)
	return out.String(), errOut.String(), code
}

// ok is run for what must succeed; it returns the standard output.
func (s tools) ok(stdin string, args ...string) string {
	s.t.Helper()
	out, errOut, code := s.run(stdin, args...)
	if code != exitOK || errOut != "" {
		s.t.Fatalf("brokerd %s: exit code %d, standard error %q", strings.Join(args, " "), code, errOut)
	}
	return out
}

// fails is run for what must fail with a code and a message.
func (s tools) fails(code int, message string, args ...string) {
	s.t.Helper()
	out, errOut, got := s.run("", args...)
	if got != code || !strings.Contains(errOut, message) {
		s.t.Errorf("brokerd %s: exit code %d, want %d; standard error %q, want %q; standard output %q",
			strings.Join(args, " "), got, code, errOut, message, out)
	}
}

// numbered is n lines, keyed by a letter: "a,0", "b,1" ...
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c,%d\n", 'a'+i%7, i)
	}
	return b.String()
}

func sortedLines(s string) []string { return slices.Sorted(strings.Lines(s)) }

func TestTopicCommands(t *testing.T) {
	s := newTools(t)
	if got := s.ok("", "topic", "create", "orders", "--partitions", "3", "--config", "retention.ms=3600000"); got != "created orders with 3 partitions\n" {
		t.Errorf("create: %q", got)
	}
	s.ok("", "topic", "create", "clicks")
	s.ok("a\nb\n", "produce", "orders", "--partition", "1")

	list := objects(t, s.ok("", "topic", "list", "--json"))
	if len(list) != 2 || list[1]["topic"] != "orders" || list[1]["partitions"] != 3.0 || list[1]["records"] != 2.0 {
		t.Errorf("list: %v", list)
	}
	described := s.ok("", "topic", "describe", "orders")
	for _, want := range []string{list[1]["id"].(string), "retention.ms  3600000  topic", "1      0    2        2"} {
		if !strings.Contains(described, want) {
			t.Errorf("describe has no %q:\n%s", want, described)
		}
	}
	all := objects(t, s.ok("", "topic", "describe", "clicks", "--all", "--json"))
	if settings, _ := all[0]["settings"].([]any); len(settings) < 20 {
		t.Errorf("describe --all has %d settings", len(settings))
	}

	s.ok("", "topic", "alter", "orders", "--unset", "retention.ms", "--config", "max.message.bytes=2000000", "--partitions", "5")
	described = s.ok("", "topic", "describe", "orders")
	if strings.Contains(described, "retention.ms") || !strings.Contains(described, "max.message.bytes  2000000") ||
		strings.Count(described, "\n        ") != 5 {
		t.Errorf("after alter:\n%s", described)
	}
	if got := s.ok("", "topic", "delete", "orders", "--yes"); got != "deleted orders\n" {
		t.Errorf("delete: %q", got)
	}

	s.fails(exitFailure, `there is no topic "orders"`, "topic", "describe", "orders")
	s.fails(exitFailure, `there is no topic "orders"`, "topic", "alter", "orders", "--partitions", "9")
	s.fails(exitFailure, `there is no topic "orders"`, "topic", "delete", "orders", "--yes")
	s.fails(exitFailure, "TOPIC_ALREADY_EXISTS", "topic", "create", "clicks")
	s.fails(exitFailure, "INVALID_CONFIG", "topic", "create", "x", "--config", "no.such.setting=1")
	s.fails(exitFailure, "INVALID_PARTITIONS", "topic", "alter", "clicks", "--partitions", "1")
	s.fails(exitUsage, "give --yes", "topic", "delete", "clicks")
	s.fails(exitUsage, "nothing to change", "topic", "alter", "clicks")
	s.fails(exitUsage, `has no command "destroy"`, "topic", "destroy")
	s.fails(exitUsage, "unknown flag", "topic", "list", "--colour")
	s.fails(exitUsage, "accepts 1 arg", "topic", "create")
}

func TestProduceAndConsume(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t", "--partitions", "4")
	lines := numbered(1000)
	sum := objects(t, s.ok(lines, "produce", "t", "--key-separator", ",", "--compression", "zstd", "--header", "from=test", "--json"))[0]
	if sum["records"] != 1000.0 || sum["topic"] != "t" {
		t.Errorf("summary: %v", sum)
	}

	got := s.ok("", "consume", "t", "--format", `%k,%v\n`)
	if !slices.Equal(sortedLines(got), sortedLines(lines)) {
		t.Error("what was read is not what was written")
	}
	byKey := make(map[string]string)
	for line := range strings.Lines(got) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ",")
		if byKey[key] != "" && len(byKey[key]) == len(value) && byKey[key] > value {
			t.Errorf("key %s: %s comes after %s", key, value, byKey[key])
		}
		byKey[key] = value
	}
	if got := s.ok("", "consume", "t", "--from", "beginning", "--format", `%k,%v\n`); !slices.Equal(sortedLines(got), sortedLines(lines)) {
		t.Error("the replay differs")
	}

	s.ok("", "topic", "create", "small")
	s.ok("one\ntwo\n\xff", "produce", "small")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "one\ntwo\n\xff\n"},
		{[]string{"--from", "1"}, "two\n\xff\n"},
		{[]string{"--from", "-1"}, "\xff\n"},
		{[]string{"--from", "-1h"}, "one\ntwo\n\xff\n"},
		{[]string{"--from", "end"}, ""},
		{[]string{"--from", "2000"}, ""},
		{[]string{"--count", "1", "--partition", "0", "--offset"}, "0\t0\tone\n"},
		{[]string{"--from", time.Now().Add(time.Hour).Format(time.RFC3339)}, ""},
	} {
		if got := s.ok("", append([]string{"consume", "small"}, c.args...)...); got != c.want {
			t.Errorf("consume %v: %q, want %q", c.args, got, c.want)
		}
	}
	last := objects(t, s.ok("", "consume", "small", "--from", "-1", "--json"))
	if len(last) != 1 || last[0]["value_base64"] != "/w==" || last[0]["key"] != nil || last[0]["offset"] != 2.0 {
		t.Errorf("as JSON: %v", last)
	}

	s.fails(exitFailure, `there is no topic "nope"`, "produce", "nope")
	s.fails(exitFailure, `there is no topic "nope"`, "consume", "t", "nope")
	s.fails(exitUsage, "has the partitions 0 to 3", "produce", "t", "--partition", "4")
	s.fails(exitUsage, "no such partition", "consume", "t", "--partition", "4")
	s.fails(exitUsage, "no place in a topic", "consume", "t", "--from", "yesterday")
}

func TestProduceNamesTheLine(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t", "--config", "max.message.bytes=2000")
	long := strings.Repeat("x", 3000)
	for _, c := range []struct {
		name, in string
		args     []string
		want     string
	}{
		{"longer than a batch", "a\nb\n" + long + "\nc\n", []string{"--batch-bytes", "2000"}, "line 3 is longer than 2000 bytes"},
		{"refused by the broker", "a\nb\n" + long + "\n", []string{"--batch-bytes", "4000", "--linger", "0"}, "MESSAGE_TOO_LARGE"},
	} {
		_, errOut, code := s.run(c.in, append([]string{"produce", "t"}, c.args...)...)
		if code != exitFailure || !strings.Contains(errOut, c.want) || !strings.Contains(errOut, "line ") {
			t.Errorf("%s: exit code %d, %q, want %q", c.name, code, errOut, c.want)
		}
	}
}

func TestProduceInterrupted(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t")
	ctx, interrupt := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	go func() {
		io.WriteString(typed, "one\ntwo\n")
		interrupt()
		<-ctx.Done()
	}()
	defer typed.Close()
	var out, errOut bytes.Buffer
	code := execute(ctx, []string{"produce", "t", "--server", s.server}, in, &out, &errOut)
	if code != exitFailure || !strings.Contains(errOut.String(), "interrupted after line ") {
		t.Fatalf("exit code %d, %q", code, errOut.String())
	}
	var lines int
	fmt.Sscanf(errOut.String(), "brokerd: interrupted after line %d;", &lines)
	if got := strings.Count(s.ok("", "consume", "t"), "\n"); got != lines {
		t.Errorf("%d records are stored, the message said %d: %q", got, lines, errOut.String())
	}
}

// syncBuffer is written by a command and read by the test.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs a command in the background; stop interrupts it and returns its exit code.
func (s tools) start(args ...string) (out *syncBuffer, stop func() int) {
	ctx, cancel := context.WithCancel(s.t.Context())
	out = &syncBuffer{}
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, append(args, "--server", s.server), strings.NewReader(""), out, io.Discard)
	}()
	return out, sync.OnceValue(func() int {
		cancel()
		return <-code
	})
}

// until polls a condition that the broker or a background command brings about.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

func TestConsumeFollows(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t")
	s.ok("before\n", "produce", "t")
	out, stop := s.start("consume", "t", "--follow")
	defer stop()
	until(t, "the first record", func() bool { return out.String() == "before\n" })
	s.ok("after\n", "produce", "t")
	until(t, "the second record", func() bool { return out.String() == "before\nafter\n" })
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after an interrupt", code)
	}
}

// closedPipe is the standard output of `brokerd consume ... | head` after head has left.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestConsumeIntoAClosedPipeIsQuiet(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t")
	s.ok(numbered(10), "produce", "t")
	var errOut bytes.Buffer
	code := execute(t.Context(), []string{"consume", "t", "--group", "g", "--server", s.server}, strings.NewReader(""), closedPipe{}, &errOut)
	if code != exitOK || errOut.Len() > 0 {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
	if got := strings.Count(s.ok("", "consume", "t", "--group", "g"), "\n"); got != 10 {
		t.Errorf("%d records after the pipe was closed, want all 10: none was written", got)
	}
}

func TestGroupCommands(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t", "--partitions", "2")
	for p := range 2 {
		s.ok(numbered(10), "produce", "t", "--partition", fmt.Sprint(p))
	}
	if got := strings.Count(s.ok("", "consume", "t", "--group", "g", "--count", "12"), "\n"); got != 12 {
		t.Fatalf("%d records, want 12", got)
	}
	g := objects(t, s.ok("", "group", "describe", "g", "--json"))[0]
	if g["lag"] != 8.0 || g["state"] != "Empty" {
		t.Errorf("after 12 of 20 records: %v", g)
	}
	if got := strings.Count(s.ok("", "consume", "t", "--group", "g"), "\n"); got != 8 {
		t.Errorf("%d records after 12 of 20, want 8", got)
	}
	if got := s.ok("", "consume", "t", "--group", "g"); got != "" {
		t.Errorf("at the end: %q", got)
	}

	dry := objects(t, s.ok("", "group", "reset", "g", "--topic", "t:1", "--by", "-3", "--dry-run", "--json"))
	if len(dry) != 1 || dry[0]["before"] != 10.0 || dry[0]["after"] != 7.0 || dry[0]["moved"] != false {
		t.Errorf("dry run: %v", dry)
	}
	if got := s.ok("", "consume", "t", "--group", "g"); got != "" {
		t.Errorf("after a dry run: %q", got)
	}
	for _, c := range []struct {
		to   []string
		want int
	}{
		{[]string{"--topic", "t:1", "--by", "-3"}, 3},
		{[]string{"--topic", "t", "--to-beginning"}, 20},
		{[]string{"--all-topics", "--to-offset", "6"}, 8},
		{[]string{"--topic", "t:0", "--topic", "t:1", "--to-time", "-1h"}, 20},
		{[]string{"--all-topics", "--to-end"}, 0},
	} {
		s.ok("", append([]string{"group", "reset", "g"}, c.to...)...)
		if got := strings.Count(s.ok("", "consume", "t", "--group", "g"), "\n"); got != c.want {
			t.Errorf("after reset %v: %d records, want %d", c.to, got, c.want)
		}
	}
	s.ok("", "group", "reset", "made", "--topic", "t", "--to-end")
	if list := s.ok("", "group", "list"); !strings.Contains(list, "g      classic  Empty") || !strings.Contains(list, "made") {
		t.Errorf("list:\n%s", list)
	}

	s.fails(exitUsage, "give one of", "group", "reset", "g", "--topic", "t")
	s.fails(exitUsage, "give one of", "group", "reset", "g", "--topic", "t", "--to-end", "--to-beginning")
	s.fails(exitUsage, "say what to move", "group", "reset", "g", "--to-end")
	s.fails(exitUsage, "is no time", "group", "reset", "g", "--topic", "t", "--to-time", "soon")
	s.fails(exitFailure, "no partition 7", "group", "reset", "g", "--topic", "t:7", "--to-end")
	s.fails(exitFailure, `there is no topic "u"`, "group", "reset", "g", "--topic", "u", "--to-end")
	s.fails(exitFailure, `there is no group "h"`, "group", "describe", "h")
	s.fails(exitFailure, `there is no group "h"`, "group", "delete", "h")
	if got := s.ok("", "group", "delete", "g", "made"); got != "deleted g\ndeleted made\n" {
		t.Errorf("delete: %q", got)
	}
}

func TestActiveGroupIsNotMoved(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t")
	s.ok(numbered(3), "produce", "t")
	out, stop := s.start("consume", "t", "--group", "g", "--follow")
	defer stop()
	until(t, "records in the group", func() bool { return strings.Count(out.String(), "\n") == 3 })
	until(t, "the commit", func() bool { return strings.Contains(s.ok("", "group", "describe", "g"), "lag       0 records") })
	if got := s.ok("", "group", "describe", "g"); !strings.Contains(got, "t:0") || !strings.Contains(got, "Stable") {
		t.Errorf("describe:\n%s", got)
	}
	s.fails(exitFailure, "1 active member", "group", "reset", "g", "--topic", "t", "--to-beginning")
	s.fails(exitFailure, "has members", "group", "delete", "g")
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after an interrupt", code)
	}
	s.ok("", "group", "reset", "g", "--topic", "t", "--to-beginning")
}

func TestTwoMembersShareATopic(t *testing.T) {
	s := newTools(t)
	s.ok("", "topic", "create", "t", "--partitions", "4")
	first, stopFirst := s.start("consume", "t", "--group", "g", "--follow")
	defer stopFirst()
	second, stopSecond := s.start("consume", "t", "--group", "g", "--follow")
	defer stopSecond()
	until(t, "two members with partitions", func() bool {
		list, _, _ := s.run("", "group", "describe", "g", "--json")
		return strings.Count(list, `"client":"brokerd"`) == 2 && !strings.Contains(list, `"partitions":[]`)
	})
	lines := numbered(500)
	s.ok(lines, "produce", "t", "--key-separator", ";")
	until(t, "all records", func() bool {
		return slices.Equal(sortedLines(first.String()+second.String()), sortedLines(lines))
	})
}

func TestNoBroker(t *testing.T) {
	s := tools{t, "127.0.0.1:1"}
	for _, args := range [][]string{{"topic", "list"}, {"group", "list"}, {"produce", "t"}, {"consume", "t"}} {
		s.fails(exitFailure, "cannot reach 127.0.0.1:1: connection refused; start the broker with `brokerd serve`", args...)
	}
}

func TestServerFromTheEnvironment(t *testing.T) {
	s := newTools(t)
	t.Setenv(serverEnv, s.server)
	var out, errOut bytes.Buffer
	if code := execute(t.Context(), []string{"topic", "list"}, strings.NewReader(""), &out, &errOut); code != exitOK {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

func TestCompletion(t *testing.T) {
	s := newTools(t)
	t.Setenv(serverEnv, s.server)
	s.ok("", "topic", "create", "orders")
	s.ok("", "topic", "create", "clicks")
	s.ok("", "group", "reset", "billing", "--topic", "orders", "--to-end")
	for _, c := range []struct {
		typed []string
		want  string
	}{
		{[]string{"topic", "describe", ""}, "clicks\norders\n"},
		{[]string{"topic", "describe", "orders", ""}, "clicks\n"},
		{[]string{"produce", "o"}, "orders\n"},
		{[]string{"produce", "orders", ""}, ""},
		{[]string{"group", "delete", ""}, "billing\n"},
		{[]string{"consume", "orders", "--group", ""}, "billing\n"},
		{[]string{"produce", "orders", "--acks", ""}, "all\n1\n0\n"},
	} {
		var out bytes.Buffer
		execute(t.Context(), append([]string{"__complete"}, c.typed...), strings.NewReader(""), &out, io.Discard)
		got, _, _ := strings.Cut(out.String(), ":")
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{"topic"}, {"topic", "create"}, {"topic", "list"}, {"topic", "describe"}, {"topic", "alter"},
		{"topic", "delete"}, {"produce"}, {"consume"}, {"group"}, {"group", "list"}, {"group", "describe"}, {"group", "reset"},
		{"group", "delete"}, {"log"}, {"log", "dump"}, {"log", "verify"}} {
		var out bytes.Buffer
		code := execute(t.Context(), append(args, "--help"), strings.NewReader(""), &out, io.Discard)
		if code != exitOK || !strings.Contains(out.String(), "Examples:\n  brokerd "+args[0]) && args[0] != "produce" {
			t.Errorf("%v: exit code %d\n%s", args, code, out.String())
		}
	}
}
