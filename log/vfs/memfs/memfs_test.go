package memfs

import (
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"brokerd/log/vfs"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// outcomes plays one history on 300 disks, crashes each in its own way, and returns every state found, with its number.
func outcomes(t *testing.T, history func(m *FS)) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(300) {
		m := New()
		history(m)
		seen[state(t, m.Crash(seeded(seed)))]++
	}
	return seen
}

// state writes a small file system as "name=content name/", in order of names.
func state(t *testing.T, m *FS) string {
	t.Helper()
	var out []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := m.List(dir)
		check(t, err)
		for _, e := range entries {
			name := strings.TrimPrefix(dir+"/"+e.Name, "/")
			if e.Dir {
				out = append(out, name+"/")
				walk(name)
				continue
			}
			out = append(out, name+"="+content(t, m, name))
		}
	}
	walk("")
	return strings.Join(out, " ")
}

func content(t *testing.T, m *FS, name string) string {
	t.Helper()
	f, err := m.OpenRead(name)
	check(t, err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	check(t, err)
	return string(b)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func put(f vfs.File, off int64, s string) { must(f.WriteAt([]byte(s), off)) }

func done(err error) { must(0, err) }

func TestCrashOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		history func(m *FS)
		want    []string // exactly the states that some crash leaves
	}{
		{"all synced", func(m *FS) {
			f := must(m.Create("a"))
			put(f, 0, "xy")
			done(f.Sync())
			done(m.SyncDir(""))
		}, []string{"a=xy"}},
		{"synced by syncfs", func(m *FS) {
			done(m.MkdirAll("d"))
			put(must(m.Create("d/a")), 0, "xy")
			done(m.SyncFS("d"))
		}, []string{"d/ d/a=xy"}},
		{"name not synced", func(m *FS) {
			f := must(m.Create("a"))
			put(f, 0, "xy")
			done(f.Sync())
		}, []string{"", "a=xy"}},
		{"writes in any order", func(m *FS) {
			f := must(m.Create("a"))
			done(m.SyncDir(""))
			put(f, 0, "x")
			put(f, 1, "y")
		}, []string{"a=", "a=\x00", "a=\x00\x00", "a=\x00y", "a=x", "a=x\x00", "a=xy"}},
		{"overwrite", func(m *FS) {
			f := must(m.Create("a"))
			put(f, 0, "old")
			done(f.Sync())
			done(m.SyncDir(""))
			put(f, 0, "new")
		}, []string{"a=new", "a=old"}},
		{"truncate", func(m *FS) {
			f := must(m.Create("a"))
			put(f, 0, "old")
			done(f.Sync())
			done(m.SyncDir(""))
			done(f.Truncate(1))
		}, []string{"a=o", "a=old"}},
		{"files are independent", func(m *FS) {
			f, g := must(m.Create("a")), must(m.Create("b"))
			done(m.SyncDir(""))
			done(f.Truncate(1))
			done(g.Truncate(1))
			put(f, 0, "x")
			done(f.Sync())
		}, []string{"a=x b=", "a=x b=\x00"}},
		{"rename over is atomic", func(m *FS) {
			f, g := must(m.Create("a")), must(m.Create("a.tmp"))
			put(f, 0, "old")
			put(g, 0, "new")
			done(m.SyncFS(""))
			done(m.Rename("a.tmp", "a"))
		}, []string{"a=new", "a=old a.tmp=new"}},
		{"a name's changes keep their order", func(m *FS) {
			put(must(m.Create("a")), 0, "1")
			done(m.SyncFS(""))
			done(m.Remove("a"))
			f := must(m.Create("a"))
			put(f, 0, "2")
			done(f.Sync())
		}, []string{"", "a=1", "a=2"}},
		{"removal not synced", func(m *FS) {
			done(m.MkdirAll("d"))
			must(m.Create("d/a"))
			must(m.Create("d/b"))
			done(m.SyncFS(""))
			done(m.Remove("d/a"))
			done(m.Remove("d/b"))
		}, []string{"d/", "d/ d/a=", "d/ d/a= d/b=", "d/ d/b="}},
		{"directory's own name not synced", func(m *FS) {
			done(m.MkdirAll("d"))
			must(m.Create("d/a"))
			done(m.SyncDir("d"))
		}, []string{"", "d/ d/a="}},
		{"move between directories", func(m *FS) {
			done(m.MkdirAll("d"))
			done(m.MkdirAll("e"))
			must(m.Create("d/a"))
			done(m.SyncFS(""))
			done(m.Rename("d/a", "e/b"))
		}, []string{"d/ d/a= e/", "d/ e/ e/b="}},
		{"move synced on one side", func(m *FS) {
			done(m.MkdirAll("d"))
			done(m.MkdirAll("e"))
			must(m.Create("d/a"))
			done(m.SyncDir(""))
			done(m.Rename("d/a", "e/b"))
			done(m.SyncDir("e"))
		}, []string{"d/ e/ e/b="}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := outcomes(t, test.history)
			for _, want := range test.want {
				if seen[want] == 0 {
					t.Errorf("no crash leaves %q", want)
				}
				delete(seen, want)
			}
			if len(seen) > 0 {
				t.Errorf("crashes also leave %v", seen)
			}
		})
	}
}

func TestCrashTearsBySector(t *testing.T) {
	const start, size = 100, 3000
	torn := 0
	for seed := range uint64(100) {
		m := New()
		f := must(m.Create("a"))
		put(f, 0, strings.Repeat(".", start+size))
		done(m.SyncFS(""))
		put(f, start, strings.Repeat("x", size))
		got := content(t, m.Crash(seeded(seed)), "a")
		if len(got) != start+size || got[:start] != strings.Repeat(".", start) {
			t.Fatalf("seed %d: synced bytes are lost", seed)
		}
		for at := start; at < len(got); at = (at/sectorSize + 1) * sectorSize {
			end := min((at/sectorSize+1)*sectorSize, len(got))
			if sector := got[at:end]; strings.Count(sector, sector[:1]) != len(sector) {
				t.Fatalf("seed %d: the sector at %d is mixed", seed, at)
			}
		}
		if strings.Contains(got, "x") && strings.Count(got, "x") < size {
			torn++
		}
	}
	if torn < 10 {
		t.Errorf("only %d of 100 crashes tear the write", torn)
	}
}

func TestCrashWithoutChanceLosesAll(t *testing.T) {
	m := New()
	f := must(m.Create("a"))
	put(f, 0, "kept")
	done(m.SyncFS(""))
	put(f, 4, " lost")
	must(m.Create("b"))
	if got := state(t, m.Crash(nil)); got != "a=kept" {
		t.Errorf("left: %q", got)
	}
}

func TestCrashIsRepeatable(t *testing.T) {
	play := func() string {
		m := New()
		for _, name := range []string{"a", "b", "c", "d"} {
			f := must(m.Create(name))
			put(f, 0, strings.Repeat(name, 2000))
			put(f, 1000, strings.Repeat("-", 2000))
		}
		done(m.Rename("a", "b"))
		done(m.Remove("c"))
		return state(t, m.Crash(seeded(7)))
	}
	if play() != play() {
		t.Error("the same seed gives two disks")
	}
}

func TestKillKeepsWhatWasWritten(t *testing.T) {
	m := New()
	put(must(m.Create("a")), 0, "xy")
	must(m.Lock("lock"))
	next := m.Kill()
	if got := content(t, next, "a"); got != "xy" {
		t.Errorf("content is %q", got)
	}
	if open := next.OpenFiles(); len(open) > 0 {
		t.Errorf("open: %q", open)
	}
	check(t, must(next.Lock("lock")).Close())
	if got := state(t, next.Crash(nil)); got != "" {
		t.Errorf("the kill has synced %q", got)
	}
}

func TestOldHandlesFail(t *testing.T) {
	for name, end := range map[string]func(m *FS) *FS{
		"crash": func(m *FS) *FS { return m.Crash(nil) },
		"kill":  (*FS).Kill,
	} {
		m := New()
		f := must(m.Create("a"))
		next := end(m)
		_, readErr := f.ReadAt(make([]byte, 1), 0)
		_, writeErr := f.WriteAt(make([]byte, 1), 0)
		_, createErr := m.Create("b")
		for _, err := range []error{readErr, writeErr, f.Sync(), createErr, m.SyncDir("")} {
			if !errors.Is(err, ErrGone) {
				t.Errorf("%s: error is %v", name, err)
			}
		}
		must(next.Create("b"))
	}
}

func TestTimesFollowTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		f := must(m.Create("a"))
		time.Sleep(time.Hour)
		put(f, 0, "x")
		if entry := must(m.List(""))[0]; !entry.ModTime.Equal(time.Now()) {
			t.Errorf("modified at %v, now is %v", entry.ModTime, time.Now())
		}
	})
}

// A crash may come at any moment, also while others use the file system and while one of them is stalled in a fault.
func TestCrashDuringUse(t *testing.T) {
	m := New()
	stalled, release := make(chan bool, 1), make(chan bool)
	m.Fail(func(op Op) error {
		if op.Kind == Sync && op.Name == "0" {
			stalled <- true
			<-release
		}
		return nil
	})
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			f, err := m.Create(strconv.Itoa(n))
			for err == nil {
				_, err = f.WriteAt([]byte("x"), 0)
				err = errors.Join(err, f.Sync(), m.SyncDir(""))
			}
			if !errors.Is(err, ErrGone) {
				t.Errorf("error is %v", err)
			}
		})
	}
	<-stalled
	next := m.Crash(seeded(1))
	close(release)
	wg.Wait()
	if open := next.OpenFiles(); len(open) > 0 {
		t.Errorf("open: %q", open)
	}
}
