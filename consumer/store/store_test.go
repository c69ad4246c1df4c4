package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChangesAreSavedInOrderAndOnesThatComeTooLateAreRefused(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "meta.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(db, "the things of a test", zerolog.Nop())
	var order []string
	add := func(name string, fails error) *Write {
		return s.Add(func(*bbolt.Tx) error { order = append(order, "put "+name); return fails },
			func(err error) { order = append(order, fmt.Sprintf("then %s %v", name, err != nil)) })
	}
	a, b := add("a", nil), add("b", nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	if err := errors.Join(a.Wait(t.Context()), b.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := add("c", broken).Wait(t.Context()); !errors.Is(err, ErrFailed) || !errors.Is(err, broken) {
		t.Errorf("a change that fails: %v", err)
	}
	if err := add("d", nil).Wait(t.Context()); err != nil {
		t.Errorf("a change after one that failed: %v", err)
	}
	cancel()
	<-ended
	late := add("e", nil)
	if err := late.Wait(t.Context()); !errors.Is(err, ErrClosed) || !late.Refused() || a.Refused() {
		t.Errorf("a change that comes too late: %v", err)
	}
	want := "[put a put b then a false then b false put c then c true put d then d false]"
	if fmt.Sprint(order) != want {
		t.Errorf("happened: %v\nwant:     %s", order, want)
	}
}
