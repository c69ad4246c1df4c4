package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "brokerd"

// ladder gives each package its rung: it may import only packages of lower ones. Front doors share a rung, so that they
// never import each other. tests/ and clients/ stand beside it.
func ladder() map[string]int {
	return map[string]int{
		"log/vfs":           0,
		"log/vfs/memfs":     10,
		"log/vfs/ramfs":     10,
		"log":               10,
		"topic/subject":     10,
		"producer":          20,
		"topic/message":     20,
		"topic":             30,
		"topic/stream":      35,
		"consumer/store":    36,
		"consumer":          40,
		"consumer/durable":  45,
		"broker/nats/wire":  45,
		"broker/nats/route": 45,
		"broker/kafka":      50,
		"broker/nats":       50,
		"broker":            60,
		"cmd/brokerd":       70,
	}
}

// testOnly are packages of ours that only tests may import.
func testOnly() []string { return []string{"log/vfs/memfs"} }

// banned imports, each with its reason.
func banned() map[string]string {
	return map[string]string{
		"log":                   "the broker logs with zerolog; the name is our own package's",
		"github.com/pkg/errors": "errors are wrapped with %w",
		"io/ioutil":             "replaced by io and os",
		"math/rand":             "math/rand/v2, or crypto/rand",
		"unsafe":                "nothing here needs it",
	}
}

// notInBinary are the dependencies of tests that must not reach the binary, by prefix.
func notInBinary() []string {
	return []string{
		"testing", "github.com/IBM/sarama", "github.com/confluentinc/", "pgregory.net/rapid", "go.uber.org/goleak",
		"github.com/twmb/franz-go/pkg/kfake",
		"github.com/stretchr/testify", module + "/log/vfs/memfs", module + "/tests", module + "/clients",
	}
}

// pkg is what this test needs of an entry of `go list -json`.
type pkg struct {
	ImportPath, Dir, Doc               string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return out
}

func packages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	d := json.NewDecoder(bytes.NewReader(goList(t, "-json", "./...")))
	for {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// ours returns the path of a package below the module's root.
func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

func outside(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return top == "tests" || top == "clients"
}

func TestImportLadder(t *testing.T) {
	rungs := ladder()
	for _, p := range packages(t) {
		from, _ := ours(p.ImportPath)
		if outside(from) {
			continue
		}
		rung, ok := rungs[from]
		if !ok {
			t.Errorf("package %s has no rung on the ladder", from)
		}
		for _, imported := range p.Imports {
			to, isOurs := ours(imported)
			if !isOurs {
				continue
			}
			if below, ok := rungs[to]; !ok || below >= rung {
				t.Errorf("%s (rung %d) imports %s (rung %d)", from, rung, to, below)
			}
			for _, only := range testOnly() {
				if to == only {
					t.Errorf("%s imports %s, which is for tests", from, to)
				}
			}
		}
	}
}

func TestClientsImportNothingOfOurs(t *testing.T) {
	for _, p := range packages(t) {
		from, _ := ours(p.ImportPath)
		if !strings.HasPrefix(from, "clients") {
			continue
		}
		for _, imported := range p.Imports {
			if to, isOurs := ours(imported); isOurs && !strings.HasPrefix(to, "clients") {
				t.Errorf("%s imports %s", from, to)
			}
		}
	}
}

func TestEveryPackageHasADocComment(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func TestBannedImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, list := range [][]string{p.Imports, p.TestImports, p.XTestImports} {
			for _, imported := range list {
				if reason, ok := banned()[imported]; ok {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, reason)
				}
			}
		}
	}
}

func TestBinaryHoldsNoTestDependency(t *testing.T) {
	for dep := range strings.FieldsSeq(string(goList(t, "-deps", "./cmd/brokerd"))) {
		for _, prefix := range notInBinary() {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("the binary contains %s", dep)
			}
		}
	}
}
