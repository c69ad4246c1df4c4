package nats

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the answers into testdata/api")

// volatile are parts of answers that differ from run to run.
func volatile() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`"(?:created|ts|first_ts|last_ts|time|timestamp|last_active|id|start|now|pinned_ts)":("[^"]*")`),
		regexp.MustCompile(`"(?:pause_remaining|mem|cores|cpu|gomaxprocs|storage)":([0-9.]+)`),
		regexp.MustCompile(`"uptime":("[^"]*")`),
		regexp.MustCompile(`Nats-Time-Stamp: ([^; ]*)`),
		regexp.MustCompile(`\$JS.ACK\.[^.]*\.[^.]*\.[^.]*\.[^.]*\.[^.]*\.([^.]*)`),
		regexp.MustCompile(`\$JS.SNAPSHOT.RESTORE.[^.]*\.([^"]*)`),
		regexp.MustCompile(`"Name":("[^"]*")`),
	}
}

func settled(s string) string {
	for _, v := range volatile() {
		s = v.ReplaceAllStringFunc(s, func(found string) string {
			return strings.Replace(found, v.FindStringSubmatch(found)[1], "X", 1)
		})
	}
	return s
}

func (n note) String() string {
	var parts []string
	if n.header != "" {
		parts = append(parts, strings.ReplaceAll(strings.TrimSpace(n.header), "\r\n", "; "))
	}
	if n.subject != n.inbox {
		parts = append(parts, n.subject)
	}
	if n.reply != "" {
		parts = append(parts, n.reply)
	}
	if n.data != "" || len(parts) == 0 {
		parts = append(parts, n.data)
	}
	return settled(strings.Join(parts, " | "))
}

// Each file in testdata/api is a conversation: a request on a line of its own (subject, "[headers]", body), and what is
// answered below it, indented. "SUBJECT*N" waits for N answers. "listen SUBJECT" begins to listen, "hear SUBJECT" shows the
// next message that came there.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/api/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := converse(t, string(data))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compare(t, string(data), got)
		})
	}
}

func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	request := ""
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			t.Fatalf("line %d, after %s:\n got %q\nwant %q", i+1, request, at(g, i), at(w, i))
		}
		if !strings.HasPrefix(w[i], "\t") && w[i] != "" {
			request = w[i]
		}
	}
}

func at(lines []string, i int) string {
	if i >= len(lines) {
		return "the end"
	}
	return lines[i]
}

// converse holds a conversation, and returns it with the answers that came.
func converse(t *testing.T, script string) string {
	w := newWorld(t)
	var out strings.Builder
	for line := range strings.SplitSeq(script, "\n") {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		w.asked = line
		out.WriteString(line + "\n")
		for _, answer := range w.perform(line) {
			out.WriteString("\t" + answer.String() + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (w *world) perform(line string) []note {
	subject, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || line[0] == '#':
		return nil
	case subject == "listen":
		w.door.listen(rest)
		return nil
	case subject == "hear":
		return []note{w.door.next(w.t, rest)}
	}
	header := ""
	if strings.HasPrefix(rest, "[") {
		header, rest, _ = strings.Cut(rest[1:], "]")
		rest = strings.TrimPrefix(rest, " ")
	}
	subject, times, _ := strings.Cut(subject, "*")
	if times == "" || strings.HasPrefix(times, ".") { // a wildcard is none of ours
		return []note{w.ask(strings.Fields(line)[0], header, rest)}
	}
	n, err := strconv.Atoi(times)
	if err != nil {
		w.t.Fatal(err)
	}
	answers := []note{w.ask(subject, header, rest)}
	for range n - 1 {
		answers = append(answers, w.door.next(w.t, "_INBOX.ask"))
	}
	return answers
}
