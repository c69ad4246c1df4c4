package tests

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// A stored range is read again: from an offset, from a time, and by a group that was moved back in time. Each reading is
// byte-identical to the first, also after restarts.
func TestReplay(t *testing.T) {
	const topic, count, first = "replay", 500, 123
	s := start(t, options(t, fastGroups))
	cl := client(t, s, kgo.ProducerBatchMaxBytes(8<<10))
	create(t, cl, topic, 1, settings{"segment.bytes": smallSegment})
	began := time.UnixMilli(1_700_000_000_000)
	records := newMaker(30).records(topic, 0, count, 5000)
	for i, r := range records {
		r.Timestamp = began.Add(time.Duration(i) * time.Second)
		r.Headers = []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}
	}
	publish(t, cl, harness.NewLedger(), records...)
	from := began.Add(first * time.Second).Add(-time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z07:00")

	consume := func(args ...string) []byte {
		return tool(t, s, append([]string{"consume", topic, "--json"}, args...)...)
	}
	whole := consume("--from", "beginning")
	if n := bytes.Count(whole, []byte("\n")); n != count {
		t.Fatalf("%d records were read, want %d", n, count)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	want := bytes.Join(lines[first:], nil)

	check := func(t *testing.T) {
		for name, got := range map[string][]byte{
			"offset": consume("--from", fmt.Sprint(first)),
			"time":   consume("--from", from),
		} {
			if !bytes.Equal(got, want) {
				t.Errorf("from a %s: %d bytes differ from the first reading's %d", name, len(got), len(want))
			}
		}
		if got := consume("--group", "replay"); len(got) != 0 {
			t.Errorf("the group had read all, and got %d bytes more", len(got))
		}
		tool(t, s, "group", "reset", "replay", "--topic", topic, "--to-time", from)
		if got := consume("--group", "replay"); !bytes.Equal(got, want) {
			t.Errorf("after group reset --to-time: %d bytes differ from the first reading's %d", len(got), len(want))
		}
	}
	if got := consume("--group", "replay"); !bytes.Equal(got, whole) {
		t.Errorf("the group's first reading differs: %d bytes, want %d", len(got), len(whole))
	}
	t.Run("running", check)
	s = restart(t, s)
	t.Run("restarted", check)
	kill(t, s)
	s = start(t, s.Again())
	t.Run("killed", check)
}

// tool runs a command of the binary against a broker and returns what it printed.
func tool(t *testing.T, s *harness.Server, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(limited(t, 60*time.Second), s.Again().Binary, append(args, "--server", s.Kafka)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("brokerd %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.Bytes()
}
