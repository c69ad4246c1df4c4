package topic

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestChangesAreToldBeforeTheyReturn(t *testing.T) {
	w := newWorld(t)
	w.create("before", 2)
	var told []string
	err := w.OnChange(func(t *Topic, deleted bool) {
		_, listed := w.Get(t.Name())
		told = append(told, fmt.Sprintf("%s %d %s %v %v", t.Name(), len(t.Partitions()), t.Stream(), listed, deleted))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := func(want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Fatalf("told %q, want %q", told, want)
		}
		told = nil
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	want("before 2  true false")
	w.create("orders", 1)
	want("orders 1  true false")
	must(w.AddPartitions("orders", 3, false))
	want("orders 3  true false")
	must(w.Alter("orders", []Change{{Key: "retention.ms", Value: "5"}}, false))
	want("orders 3  true false")
	must(w.Alter("orders", []Change{{Key: "retention.ms", Value: "5"}}, false))
	must(w.Alter("orders", []Change{{Key: "retention.ms", Value: "6"}}, true))
	want() // nothing changed
	must(w.AlterStream("orders", []byte("config"), nil))
	want("orders 3 config true false")
	must(w.Delete("orders"))
	want("orders 3 config false true")
}

func TestStreamsKeepTheirOnePartition(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Create(Spec{Name: "s", Partitions: 1, Stream: []byte("config")}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddPartitions("s", 2, true); !errors.Is(err, ErrBadPartitions) {
		t.Fatalf("got %v", err)
	}
}
