package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// segments lists the segment files of the partitions under a data directory: for each partition's directory, its
// segments in order.
func segments(t *testing.T, data string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".log") {
			found[filepath.Dir(path)] = append(found[filepath.Dir(path)], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// partitionOf is the directory whose segments hold the given bytes.
func partitionOf(t *testing.T, data string, marker []byte) (dir string, files []string) {
	t.Helper()
	for dir, files := range segments(t, data) {
		for _, f := range files {
			if strings.Contains(string(load(t, f)), string(marker)) {
				return dir, files
			}
		}
	}
	t.Fatalf("no segment under %s holds %q", data, marker)
	return "", nil
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func store(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// flip changes one bit of a file in place.
func flip(t *testing.T, path string, position int64, bit uint) {
	t.Helper()
	b := load(t, path)
	b[position] ^= 1 << bit
	store(t, path, b)
}

// copyTree copies a stopped broker's data directory to a fresh one.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// sibling is a segment's other file, such as its ".index".
func sibling(segment, extension string) string {
	return strings.TrimSuffix(segment, ".log") + extension
}
