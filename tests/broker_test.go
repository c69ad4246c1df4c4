package tests

import (
	"os"
	"strings"
	"testing"
	"time"

	"brokerd/tests/harness"
)

// options are a broker on a fresh data directory, with its own settings in the environment.
func options(t *testing.T, env ...string) harness.Options {
	t.Helper()
	return harness.Options{Binary: os.Getenv(binaryEnv), Data: t.TempDir(), Env: env}
}

// start runs a broker. When the test ends, a broker that still runs must stop cleanly, and none may have logged a
// panic or a race.
func start(t *testing.T, o harness.Options) *harness.Server {
	t.Helper()
	s, err := harness.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.Running() {
			stop(t, s)
		}
		for _, fault := range s.Faults() {
			t.Errorf("the broker logged: %s", fault)
		}
		if t.Failed() {
			t.Logf("log of the broker, process %d:\n%s", s.PID(), tail(s.Log(), 60))
		}
	})
	return s
}

// stop ends a broker cleanly.
func stop(t *testing.T, s *harness.Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// kill ends a broker as a crash does.
func kill(t *testing.T, s *harness.Server) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
}

// restart stops a broker cleanly and starts it again on the same data and ports.
func restart(t *testing.T, s *harness.Server) *harness.Server {
	t.Helper()
	stop(t, s)
	return start(t, s.Again())
}

// eventually polls a condition until it holds, and fails the test after limit.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(limit); !holds(); <-again.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// report fails the test with one line for each fault.
func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}
