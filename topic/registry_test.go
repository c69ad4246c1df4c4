package topic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs/memfs"
)

func TestCreateSurvivesARestart(t *testing.T) {
	w := newWorld(t)
	w.defaults = Defaults{Partitions: 3, Settings: map[string]string{"retention.ms": "1000"}}
	w.restart()
	made := w.create("orders", -1, "segment.ms", "5000")
	w.create("audit.log", 1)
	id, created := made.ID(), made.Created()
	for _, again := range []func(){w.restart, func() { w.kill(); w.open() }, func() { w.crash(nil); w.open() }} {
		again()
		got, ok := w.ByID(id)
		if !ok {
			t.Fatal("the topic is gone")
		}
		if got.Name() != "orders" || len(got.Partitions()) != 3 || !got.Created().Equal(created) {
			t.Errorf("it came back as %s with %d partitions of %v", got.Name(), len(got.Partitions()), got.Created())
		}
		c := got.Config()
		if c.Log.SegmentAge != 5*time.Second || c.Log.RetentionAge != time.Second {
			t.Errorf("config %+v", c)
		}
		names := []string{}
		for _, topic := range w.List() {
			names = append(names, topic.Name())
		}
		if !slices.Equal(names, []string{"audit.log", "orders"}) {
			t.Errorf("topics %v", names)
		}
		if lines := w.complaints(); len(lines) > 0 {
			t.Errorf("logged %s", lines)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t)
	w.create("a.b", 1)
	tests := []struct {
		spec Spec
		want error
	}{
		{Spec{Name: "a.b", Partitions: 1}, ErrExists},
		{Spec{Name: "a_b", Partitions: 1}, ErrBadName},
		{Spec{Name: "a b", Partitions: 1}, ErrBadName},
		{Spec{Name: "c", Partitions: 0}, ErrBadPartitions},
		{Spec{Name: "c", Partitions: -2}, ErrBadPartitions},
		{Spec{Name: "c", Partitions: 1 << 30}, ErrBadPartitions},
		{Spec{Name: "c", Partitions: 1, Settings: map[string]string{"retention.ms": "soon"}}, ErrBadConfig},
		{Spec{Name: "c", Partitions: 1, Settings: map[string]string{"durability": "async", "flush.ms": "1"}}, ErrBadConfig},
	}
	for _, tt := range tests {
		for _, tt.spec.ValidateOnly = range []bool{true, false} {
			if _, err := w.Create(tt.spec); !errors.Is(err, tt.want) {
				t.Errorf("%+v: %v, want %v", tt.spec, err, tt.want)
			}
		}
	}
	if got := w.dirs("data/topics"); len(got) != 1 {
		t.Errorf("directories %v", got)
	}
}

func TestValidateOnlyChangesNothing(t *testing.T) {
	w := newWorld(t)
	made, err := w.Create(Spec{Name: "a", Partitions: 4, Settings: map[string]string{"retention.ms": "7"}, ValidateOnly: true})
	if err != nil || made.ID() != (ID{}) || len(made.Partitions()) != 4 || made.Config().Log.RetentionAge != 7*time.Millisecond {
		t.Errorf("topic %+v, %v", made, err)
	}
	if _, err := made.Partitions()[3].Bounds(); !errors.Is(err, ErrNotFound) {
		t.Errorf("its partition answers %v", err)
	}
	w.create("b", 1)
	errs := []error{
		w.AddPartitions("b", 5, true),
		w.Alter("b", []Change{{"retention.ms", Set, "7"}}, true),
		w.Replace("b", map[string]string{"retention.ms": "7"}, true),
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	b, _ := w.Get("b")
	if len(w.List()) != 1 || len(b.Partitions()) != 1 || b.Config().Log.RetentionAge == 7*time.Millisecond {
		t.Error("something changed")
	}
}

func TestConcurrentCreatesOfOneName(t *testing.T) {
	w := newWorld(t)
	var (
		wg   sync.WaitGroup
		made atomic.Int32
	)
	for i := range 16 {
		wg.Go(func() {
			_, err := w.Create(Spec{Name: []string{"a.b", "a_b"}[i%2], Partitions: 2})
			switch {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, ErrExists) && !errors.Is(err, ErrBadName):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 || len(w.List()) != 1 || len(w.dirs("data/topics")) != 1 {
		t.Errorf("%d made, %d listed, directories %v", made.Load(), len(w.List()), w.dirs("data/topics"))
	}
}

// TestFailedCreateLeavesNothing lets each operation on the disk fail in turn, until none is left to fail.
func TestFailedCreateLeavesNothing(t *testing.T) {
	for _, kind := range []memfs.Kind{memfs.Mkdir, memfs.SyncDir, memfs.Create, memfs.Write, memfs.Sync} {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.create("before", 1)
			w.disk.Fail(memfs.Nth(kind, "*", n, syscall.EIO))
			_, err := w.Create(Spec{Name: "a", Partitions: 2})
			w.disk.Fail(nil)
			if err == nil {
				break
			}
			if _, ok := w.Get("a"); ok {
				t.Errorf("%s %d: the topic exists after %v", kind, n, err)
			}
			if got := w.dirs("data/topics"); len(got) != 1 {
				t.Errorf("%s %d: directories %v", kind, n, got)
			}
			w.create("a", 2)
			w.restart()
			if len(w.List()) != 2 {
				t.Errorf("%s %d: %d topics", kind, n, len(w.List()))
			}
			if n > 50 {
				t.Fatalf("%s: it never succeeds", kind)
			}
		}
	}
}

func TestCreateCutShortIsSwept(t *testing.T) {
	w := newWorld(t)
	id := newID()
	if err := w.store.doom(id, "half"); err != nil {
		t.Fatal(err)
	}
	if err := w.disk.MkdirAll("data/topics/" + id.String() + "/0"); err != nil {
		t.Fatal(err)
	}
	w.kill()
	w.open()
	if got := w.dirs("data/topics"); len(got) != 0 {
		t.Errorf("directories %v", got)
	}
	if ids, err := w.store.doomed(); len(ids) != 0 || err != nil {
		t.Errorf("doomed %v, %v", ids, err)
	}
}

func TestDeleteFreesTheDisk(t *testing.T) {
	w := newWorld(t)
	old := w.create("a", 2)
	w.produce(w.partition("a", 0), batchOf(t, "x"))
	if err := w.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Get("a"); ok || len(w.List()) != 0 || len(w.dirs("data/topics")) != 0 {
		t.Errorf("left: listed %d, directories %v", len(w.List()), w.dirs("data/topics"))
	}
	if err := w.Delete("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if next := w.create("a", 1); next.ID() == old.ID() {
		t.Error("the new topic has the old one's id")
	}
	w.crash(nil)
	w.open()
	if b, err := w.partition("a", 0).Bounds(); err != nil || b.End != 0 {
		t.Errorf("bounds of the new topic %+v, %v", b, err)
	}
	if len(w.List()) != 1 || len(w.dirs("data/topics")) != 1 {
		t.Errorf("after the crash: %d topics, directories %v", len(w.List()), w.dirs("data/topics"))
	}
}

// TestDeleteCutShort stops a delete after its first step: the topic is gone for good, its files go at the next start.
func TestDeleteCutShort(t *testing.T) {
	for _, kind := range []memfs.Kind{memfs.Remove, memfs.SyncDir} {
		w := newWorld(t)
		w.create("a", 2)
		w.create("b", 1)
		w.complaints()
		w.disk.Fail(memfs.From(kind, "*", 1, syscall.EIO))
		if err := w.Delete("a"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if lines := w.complaints(); len(lines) != 1 || !strings.Contains(lines[0], "could not be removed") {
			t.Errorf("%s: logged %s", kind, lines)
		}
		w.crash(nil)
		w.open()
		if _, ok := w.Get("a"); ok || len(w.List()) != 1 {
			t.Errorf("%s: the topic came back", kind)
		}
		if got := w.dirs("data/topics"); len(got) != 1 {
			t.Errorf("%s: directories %v", kind, got)
		}
		if ids, err := w.store.doomed(); len(ids) != 0 || err != nil {
			t.Errorf("%s: doomed %v, %v", kind, ids, err)
		}
	}
}

func TestDeletedTopicRefusesEverything(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	p := w.partition("a", 0)
	w.produce(p, batchOf(t, "x"))
	woken := make(chan struct{}, 1)
	defer p.Watch(woken)()
	waited := make(chan error, 1)
	go func() { waited <- p.WaitDurable(context.Background(), 100) }()
	if err := w.Delete("a"); err != nil {
		t.Fatal(err)
	}
	for name, ch := range map[string]func() error{
		"Watch":       func() error { <-woken; return ErrNotFound },
		"WaitDurable": func() error { return <-waited },
		"Append":      func() error { _, err := p.Append(batchOf(t, "y")); return err },
		"Read":        func() error { _, err := p.Read(0, 100, ReadCommitted); return err },
		"Bounds":      func() error { _, err := p.Bounds(); return err },
		"Trim":        func() error { _, err := p.Trim(-1); return err },
		"time":        func() error { _, _, err := p.OffsetForTime(0, ReadCommitted); return err },
		"max":         func() error { _, _, err := p.MaxTimestamp(ReadCommitted); return err },
		"Err":         p.Err,
	} {
		if err := ch(); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLostMetadataDeletesNothing starts with an empty database on a full disk.
func TestLostMetadataDeletesNothing(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	w.produce(w.partition("a", 0), batchOf(t, "x"))
	before := w.dirs("data/topics")
	w.restart()
	w.kill()
	w.complaints()
	w.dbPath += ".new"
	w.open()
	if got := w.dirs("data/topics"); !slices.Equal(got, before) {
		t.Errorf("directories %v, want %v", got, before)
	}
	lines := w.complaints()
	if len(lines) != 1 || !strings.Contains(lines[0], before[0]) || !strings.Contains(lines[0], "kept") {
		t.Errorf("logged %s", lines)
	}
	w.create("a", 1)
}

func TestNewerFormatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1)
	setFormat := func(v string) {
		t.Helper()
		err := w.db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(metaBucket)).Put([]byte(formatKey), []byte(v))
		})
		if err != nil {
			t.Fatal(err)
		}
		w.kill()
	}
	setFormat("2")
	if err := w.openErr(); !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), "format is 2") {
		t.Errorf("error %v", err)
	}
	var err error
	if w.db, err = bbolt.Open(w.dbPath, 0o600, nil); err != nil {
		t.Fatal(err)
	}
	w.stop = func() {}
	setFormat("one")
	if err := w.openErr(); err == nil || errors.Is(err, ErrNewerFormat) {
		t.Errorf("error %v", err)
	}
	w.Registry = nil
}

func TestBadDefaultsAreRefused(t *testing.T) {
	w := newWorld(t)
	w.kill()
	for _, bad := range []map[string]string{
		{"retention": "1"}, {"retention.ms": "x"}, {"durability": "async", "flush.ms": "1"},
	} {
		w.defaults.Settings = bad
		if err := w.openErr(); !errors.Is(err, ErrBadConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	w.Registry = nil
}

func TestDamagedMetadataOfOneTopic(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.create("a", 1), w.create("b", 1), w.create("c", 1)
	put := func(id ID, v string) {
		t.Helper()
		err := w.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(topicsBucket)).Put(id[:], []byte(v)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	put(a.ID(), "no json")
	put(b.ID(), `{"name":"b","partitions":1,"settings":{"retention.ms":"7","from.the.future":"1"}}`)
	w.kill()
	w.complaints()
	w.open()
	if _, ok := w.Get("a"); ok {
		t.Error("a topic without metadata is served")
	}
	if got, _ := w.Get("b"); got == nil || got.Config().Log.RetentionAge != 7*time.Millisecond {
		t.Errorf("the understood setting is not used: %+v", got)
	}
	if _, ok := w.ByID(c.ID()); !ok || len(w.dirs("data/topics")) != 3 {
		t.Error("another topic or its files are gone")
	}
	if lines := w.complaints(); len(lines) != 2 {
		t.Errorf("logged %s", lines)
	}
}

// TestOnePartitionOffline removes the directory of one partition: it must not start at offset 0 again.
func TestOnePartitionOffline(t *testing.T) {
	w := newWorld(t)
	id := w.create("a", 2).ID()
	w.produce(w.partition("a", 0), batchOf(t, "x"))
	w.produce(w.partition("a", 1), batchOf(t, "y"))
	w.kill()
	if err := w.disk.RemoveAll("data/topics/" + id.String() + "/1"); err != nil {
		t.Fatal(err)
	}
	w.complaints()
	w.open()
	if b, err := w.partition("a", 0).Bounds(); err != nil || b.End != 1 {
		t.Errorf("the other partition: %+v, %v", b, err)
	}
	p := w.partition("a", 1)
	if _, err := p.Append(batchOf(t, "z")); !errors.Is(err, log.ErrFailed) || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("the lost partition takes records: %v", err)
	}
	p.Watch(make(chan struct{}, 1))()
	epoch, end := p.EpochEnd(0)
	if p.Epoch() != 0 || p.Size() != 0 || epoch != -1 || end != -1 {
		t.Error("the lost partition has a size or epochs")
	}
	if lines := w.complaints(); len(lines) != 1 || !strings.Contains(lines[0], "missing") {
		t.Errorf("logged %s", lines)
	}
	if err := w.Alter("a", []Change{{"retention.ms", Set, "1"}}, false); err != nil {
		t.Error(err)
	}
	if err := w.Delete("a"); err != nil || len(w.dirs("data/topics")) != 0 {
		t.Errorf("delete: %v, directories %v", err, w.dirs("data/topics"))
	}
}

func TestAddPartitions(t *testing.T) {
	w := newWorld(t)
	made := w.create("a", 2)
	w.produce(w.partition("a", 1), batchOf(t, "x"))
	for _, total := range []int32{-1, 0, 1, 2, maxPartitions + 1} {
		if err := w.AddPartitions("a", total, false); !errors.Is(err, ErrBadPartitions) {
			t.Errorf("%d: %v", total, err)
		}
	}
	if err := w.AddPartitions("b", 3, false); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown topic: %v", err)
	}
	w.disk.Fail(memfs.Nth(memfs.Create, "*", 1, syscall.ENOSPC))
	if err := w.AddPartitions("a", 4, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
	w.disk.Fail(nil)
	if got := w.dirs("data/topics/" + made.ID().String()); len(made.Partitions()) != 2 || len(got) != 2 {
		t.Errorf("after the failure: %d partitions, directories %v", len(made.Partitions()), got)
	}
	if err := w.AddPartitions("a", 4, false); err != nil {
		t.Fatal(err)
	}
	w.produce(w.partition("a", 3), batchOf(t, "y"))
	w.crash(nil)
	w.open()
	for n, want := range []int64{0, 1, 0, 1} {
		if b, err := w.partition("a", int32(n)).Bounds(); err != nil || b.End != want {
			t.Errorf("partition %d: %+v, %v", n, b, err)
		}
	}
}

func TestAlterAndReplace(t *testing.T) {
	w := newWorld(t)
	w.create("a", 1, "retention.ms", "1000")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	settings := func() overrides {
		got, _ := w.Get("a")
		return got.state.Load().settings
	}
	must(w.Alter("a", []Change{{"segment.ms", Set, "5"}, {"retention.ms", Unset, ""}}, false))
	if want := (overrides{"segment.ms": "5"}); !maps.Equal(settings(), want) {
		t.Errorf("settings %v, want %v", settings(), want)
	}
	for _, bad := range [][]Change{{{"segment.ms", Set, "0"}}, {{"retention.ms", Set, "9"}, {"x", Set, "y"}}} {
		if err := w.Alter("a", bad, false); !errors.Is(err, ErrBadConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	w.crash(nil)
	w.open()
	if want := (overrides{"segment.ms": "5"}); !maps.Equal(settings(), want) {
		t.Errorf("after a crash: %v, want %v", settings(), want)
	}
	must(w.Replace("a", map[string]string{"max.message.bytes": "100"}, false))
	if want := (overrides{"max.message.bytes": "100"}); !maps.Equal(settings(), want) {
		t.Errorf("replaced: %v, want %v", settings(), want)
	}
	if _, err := w.partition("a", 0).Append(batchOf(t, strings.Repeat("x", 100))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the new setting has no effect: %v", err)
	}
	for _, err := range []error{w.Alter("b", nil, false), w.Replace("b", nil, false)} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown topic: %v", err)
		}
	}
}

// TestChangesSurviveRandomCrashes makes random changes, lets the power fail after any of them, and compares with a model.
func TestChangesSurviveRandomCrashes(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		model := make(map[string]string) // topic to "partitions retention"
		for step := range 60 {
			name := string(rune('a' + rng.IntN(4)))
			switch rng.IntN(5) {
			case 0:
				if _, err := w.Create(Spec{Name: name, Partitions: 1}); err == nil {
					model[name] = "1 604800000"
				}
			case 1:
				if w.Delete(name) == nil {
					delete(model, name)
				}
			case 2:
				if got, ok := w.Get(name); ok && len(got.Partitions()) < 4 {
					n := len(got.Partitions()) + 1
					if err := w.AddPartitions(name, int32(n), false); err != nil {
						t.Fatal(err)
					}
					model[name] = fmt.Sprint(n, model[name][1:])
				}
			case 3:
				v := fmt.Sprint(rng.IntN(1000))
				if w.Alter(name, []Change{{"retention.ms", Set, v}}, false) == nil {
					model[name] = model[name][:2] + v
				}
			case 4:
				w.crash(rng)
				w.open()
			}
			got := make(map[string]string)
			for _, topic := range w.List() {
				got[topic.Name()] = fmt.Sprint(len(topic.Partitions()), " ", topic.levels().text("retention.ms"))
				for _, p := range topic.Partitions() {
					if err := p.Err(); err != nil {
						t.Fatalf("seed %d step %d: %v", seed, step, err)
					}
				}
			}
			if !maps.Equal(got, model) || len(w.dirs("data/topics")) != len(model) {
				t.Fatalf("seed %d step %d: %v, want %v; directories %v", seed, step, got, model, w.dirs("data/topics"))
			}
		}
		w.kill()
	}
}
