package client_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"brokerd/tests/harness"
)

// broker is what all tests and examples speak to; binary is its program.
var (
	broker *harness.Server
	binary string
)

func TestMain(m *testing.M) { os.Exit(serveAndRun(m)) }

func serveAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "brokerd-client-")
	if err == nil {
		defer os.RemoveAll(dir)
		binary, err = harness.Build(dir)
	}
	if err == nil {
		broker, err = harness.Start(harness.Options{Binary: binary, Data: dir + "/data"})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := broker.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func url(*testing.T) string { return "nats://" + broker.NATS }
