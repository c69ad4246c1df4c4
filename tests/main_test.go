package tests

import (
	"fmt"
	"os"
	"testing"

	"brokerd/tests/harness"
)

// binaryEnv names the broker to test; unset, TestMain builds it from the sources.
const binaryEnv = "BROKERD_TEST_BINARY"

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if os.Getenv(binaryEnv) == "" {
		dir, err := os.MkdirTemp("", "brokerd-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary, err := harness.Build(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		os.Setenv(binaryEnv, binary)
	}
	return m.Run()
}
