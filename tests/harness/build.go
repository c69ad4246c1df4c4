package harness

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build compiles the broker into dir, with the race detector if the caller has it, and returns the binary's path.
func Build(dir string) (string, error) {
	binary := filepath.Join(dir, "brokerd")
	args := []string{"build", "-o", binary}
	if Race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "brokerd/cmd/brokerd")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("harness: build the broker: %w\n%s", err, out)
	}
	return binary, nil
}
