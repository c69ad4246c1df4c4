package tests

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brokerd/tests/harness"
)

// The demo tells its whole story, on free ports and in another directory when ./data is there; what it leaves running
// answers both protocols; Ctrl-C ends it cleanly, and it removes what was temporary.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	const free = "127.0.0.1:0"
	cmd := exec.Command(os.Getenv(binaryEnv), "demo", "--kafka", free, "--nats", free, "--http", free)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BROKERD_") }), "TMPDIR="+dir)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
	defer limit.Stop()

	var story strings.Builder
	lines := bufio.NewReader(output)
	for !strings.Contains(story.String(), "--from -1m") { // in the last line
		line, err := lines.ReadString('\n')
		story.WriteString(line)
		if err != nil {
			t.Fatalf("the demo ended: %v\n%s", err, story.String())
		}
	}
	for _, want := range []string{
		`\./data is there already: the data is in `,
		`Kafka +\d+ records of /proc/meminfo`, `NATS +\d+ messages of /proc/vmstat`,
		`fast +(\d+) of (\d+) after .*, lag 0`, `slow +12 of \d+ after .*, lag \d+: nobody waited`,
		`acknowledged message 2: everything up to 0`, `acknowledged message 1: everything up to 3`,
		`publications were acknowledged meanwhile: \d+ are stored, 0 are lost`, `slow goes on with message 4`,
		`from 100:  `, `messages, the first on machine\.`,
	} {
		if !regexp.MustCompile(want).MatchString(story.String()) {
			t.Errorf("the demo does not say %q:\n%s", want, story.String())
		}
	}
	kafka := regexp.MustCompile(`kcat -C -b (\S+)`).FindStringSubmatch(story.String())
	nats := regexp.MustCompile(`nats -s (\S+)`).FindStringSubmatch(story.String())
	if kafka == nil || nats == nil {
		t.Fatalf("the demo names no addresses:\n%s", story.String())
	}
	s := &harness.Server{Kafka: kafka[1], NATS: nats[1]}
	read, err := harness.ReadAll(limited(t, 30*time.Second), s.Kafka, "machine")
	if n := len(messages(t, jetStream(t, s), "machine")); err != nil || n != len(read) || n == 0 {
		t.Errorf("Kafka reads %d records, NATS %d: %v", len(read), n, err)
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, rest)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "brokerd-demo-*")); len(left) > 0 {
		t.Errorf("the demo left %v", left)
	}
}
