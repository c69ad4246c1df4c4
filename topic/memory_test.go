package topic

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brokerd/log"
)

func TestTopicInMemory(t *testing.T) {
	w := newWorld(t)
	made, err := w.Create(Spec{Name: "m", Partitions: 2, Memory: true, Stream: []byte("stream"),
		Settings: map[string]string{"segment.bytes": "1048576", "retention.bytes": "2000000"}})
	if err != nil {
		t.Fatal(err)
	}
	if !made.Memory() || string(made.Stream()) != "stream" {
		t.Errorf("memory %v, stream %q", made.Memory(), made.Stream())
	}
	if names := w.dirs("data/topics"); len(names) > 0 {
		t.Errorf("on the disk: %v", names)
	}
	p := w.partition("m", 1)
	at, err := p.Append(batchOf(t, "x", "y", "z"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitDurable(context.Background(), at.Last); err != nil { // nothing runs that would sync it
		t.Fatal(err)
	}
	if err := p.Erase([]int64{1}, false); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.records(p, 0), ","); got != "0 x,2 z" {
		t.Errorf("records %s", got)
	}
	if err := w.AlterStream("m", []byte("other"), []Change{{"durability", Set, "async"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Alter("m", []Change{{"durability", Set, "sync"}}, false); err != nil {
		t.Fatal(err)
	}
	if at, err = p.Append(batchOf(t, "w")); err != nil || p.WaitDurable(context.Background(), at.Last) != nil {
		t.Errorf("after a change: %v", err)
	}
	if _, err := w.Create(Spec{Name: "m", Partitions: 1}); !errors.Is(err, ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	for range 2 {
		w.restart()
		if list := w.List(); len(list) > 0 {
			t.Errorf("after a stop there is %s", list[0].Name())
		}
	}
	if said := w.complaints(); len(said) > 0 {
		t.Errorf("complaints %v", said)
	}
	w.create("m", 1)
}

func TestTopicsInMemoryAreBounded(t *testing.T) {
	w := newWorld(t)
	w.memory, _ = newMemory(3<<20, "data")
	if _, err := w.Create(Spec{Name: "m", Partitions: 1, Memory: true}); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 500_000)
	p := w.partition("m", 0)
	stored := 0
	var err error
	for ; err == nil && stored < 10; stored++ {
		_, err = p.Append(batchOf(t, big))
	}
	if !errors.Is(err, log.ErrNoSpace) || stored != 4 { // the record has its value as its key, too
		t.Errorf("%d batches, %v", stored, err)
	}
	if err := w.Delete("m"); err != nil {
		t.Fatal(err)
	}
	if free, total, err := w.memory.fs.Free("data"); err != nil || free != total {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
}

// TestMemoryIsGivenBack drops segments by retention while Run goes on.
func TestMemoryIsGivenBack(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Create(Spec{Name: "m", Partitions: 1, Memory: true, Settings: map[string]string{
		"segment.bytes": "1048576", "retention.bytes": "1048576"}}); err != nil {
		t.Fatal(err)
	}
	w.o.RetainEach = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	p := w.partition("m", 0)
	moved := make(chan struct{}, 1)
	defer p.Watch(moved)()
	for range 10 {
		if _, err := p.Append(batchOf(t, strings.Repeat("x", 400_000))); err != nil {
			t.Fatal(err)
		}
	}
	for {
		entries, err := w.memory.fs.List(partitionDir(w.dir(p.topic.id), 0))
		if err != nil {
			t.Fatal(err)
		}
		segments := 0
		for _, e := range entries {
			if strings.HasSuffix(e.Name, ".log") {
				segments++
			}
		}
		if segments <= 3 {
			break
		}
		<-moved
	}
	cancel()
	running.Wait()
	if got := w.records(p, p.log.Bounds().Start); !slices.Contains(got, "9 "+strings.Repeat("x", 400_000)) {
		t.Errorf("the newest record is not among %d", len(got))
	}
}
