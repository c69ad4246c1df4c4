package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brokerd/tests/harness"
)

const exitRefused = 3 // of "brokerd serve", for a data directory that it does not take

// A data directory that another broker has open is refused with a clear message, and the other one does not notice.
func TestDataDirectoryInUse(t *testing.T) {
	o := options(t)
	s := start(t, o)
	cl := client(t, s)
	create(t, cl, "in-use", 1, nil)
	ledger := harness.NewLedger()
	publish(t, cl, ledger, newMaker(40).records("in-use", 0, 10, 100)...)
	refused(t, o, "in use")
	publish(t, cl, ledger, newMaker(41).records("in-use", 0, 10, 100)...)
	verify(t, s, ledger, "in-use")
}

// A data directory of a newer format is refused with a clear message, and nothing in it is changed.
func TestDataDirectoryOfANewerFormat(t *testing.T) {
	o := options(t)
	stop(t, start(t, o))
	format := filepath.Join(o.Data, "format")
	newer := regexp.MustCompile(`\d+`).ReplaceAllString(string(load(t, format)), "99")
	store(t, format, []byte(newer))
	refused(t, o, "newer format")
	if got := string(load(t, format)); got != newer {
		t.Errorf("the format file was changed to %q", got)
	}
	if _, err := os.Stat(filepath.Join(o.Data, "format.tmp")); err == nil {
		t.Error("a temporary file was left behind")
	}
}

// refused starts a broker that must end by itself with the exit code for a refused directory and say why.
func refused(t *testing.T, o harness.Options, why string) {
	t.Helper()
	s, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	code, err := s.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if code != exitRefused || !strings.Contains(s.Log(), why) {
		t.Errorf("exit code %d, want %d and a message with %q:\n%s", code, exitRefused, why, s.Log())
	}
}
