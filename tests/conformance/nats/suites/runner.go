package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// suite is one package of tests.
type suite struct {
	name, dir, work string
	tests           []string
}

// list finds out which tests there are.
func (s *suite) list(ctx context.Context, match string) error {
	out, err := exec.CommandContext(ctx, s.binary(), "-test.list", match).Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", s.name, err)
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") {
			s.tests = append(s.tests, name)
		}
	}
	return nil
}

func (s suite) binary() string { return filepath.Join(s.work, s.name+".test") }

// outcome is how a test ended.
type outcome struct {
	passed bool
	again  bool // at a later try
	how    string
	log    string // file of its output
}

// service is a running backend.
type service struct {
	cmd *exec.Cmd
	url string
}

func startService(ctx context.Context, command []string, logPath string) (*service, error) {
	if len(command) == 0 {
		return nil, errors.New("-backend is needed")
	}
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has it, too
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s said no address: %w", command[0], errors.Join(err, cmd.Wait()))
	}
	return &service{cmd: cmd, url: strings.TrimSpace(line)}, nil
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// runner runs tests, some at the same time.
type runner struct {
	service *service
	workers int
	limit   time.Duration
}

// retries is how often a test that fails unexpectedly is tried again. One that needs the server to be slower than its client
// (TestJetStreamOrderedConsumerSlowConsumer sets its limits while messages come) fails now and then, with nats-server too.
const retries = 2

// run runs all tests of a suite. Those that fail unexpectedly are tried twice more, one at a time: the tests have short waits,
// which a busy machine breaks. The report tells of them.
func (r *runner) run(ctx context.Context, s suite, exceptions map[string]string) map[string]outcome {
	todo := make(chan string)
	outcomes := map[string]outcome{}
	var mu sync.Mutex // guards outcomes
	var workers sync.WaitGroup
	for range r.workers {
		workers.Go(func() {
			for test := range todo {
				o := r.one(ctx, s, test)
				mu.Lock()
				outcomes[test] = o
				mu.Unlock()
			}
		})
	}
	for _, test := range s.tests {
		todo <- test
	}
	close(todo)
	workers.Wait()
	for test, o := range outcomes {
		for try := 0; try < retries && !o.passed && exceptions[test] == "" && ctx.Err() == nil; try++ {
			o = r.one(ctx, s, test)
			o.again = o.passed
			outcomes[test] = o
		}
	}
	return outcomes
}

// one runs one test.
func (r *runner) one(ctx context.Context, s suite, test string) outcome {
	o := outcome{log: filepath.Join(s.work, s.name, test+".log")}
	ctx, cancel := context.WithTimeout(ctx, r.limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary(), "-test.run", "^"+test+"$", "-test.v", "-test.timeout", r.limit.String())
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TESTER_NATS_URL="+r.service.url)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+test+" ")):
		o.passed = true
	case err == nil:
		o.how = "is skipped"
	case bytes.Contains(out, []byte("panic: test timed out after")):
		o.how = "does not end"
	default:
		o.how = "fails"
	}
	err = os.MkdirAll(filepath.Dir(o.log), 0o755)
	if err == nil {
		err = os.WriteFile(o.log, out, 0o644)
	}
	if err != nil {
		o.log = err.Error()
	}
	return o
}
