package topic

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs/memfs"
)

// world is a registry on a disk in memory and a real database, over several lives of the process.
type world struct {
	*Registry
	t        *testing.T
	disk     *memfs.FS
	dbPath   string
	db       *bbolt.DB
	defaults Defaults
	logged   syncBuffer
	stop     func() // ends the committer
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, disk: memfs.New(), dbPath: filepath.Join(t.TempDir(), "meta.db")}
	if err := w.disk.MkdirAll("data"); err != nil {
		t.Fatal(err)
	}
	if err := w.disk.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	w.open()
	t.Cleanup(func() {
		if w.Registry != nil {
			w.kill()
		}
	})
	return w
}

// openErr starts the process; the error is Open's.
func (w *world) openErr() error {
	w.t.Helper()
	var err error
	if w.db, err = bbolt.Open(w.dbPath, 0o600, &bbolt.Options{Timeout: time.Second}); err != nil {
		w.t.Fatal(err)
	}
	committer := log.NewCommitter(log.CommitterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { committer.Run(ctx) })
	w.stop = func() { cancel(); wg.Wait() }
	w.Registry, err = Open(context.Background(), Options{
		DB: w.db, FS: w.disk, Dir: "data", Committer: committer, Files: log.NewFiles(64),
		Defaults: w.defaults, Logger: zerolog.New(&w.logged), RetainEach: time.Hour,
	})
	if err != nil {
		w.stop()
		w.db.Close()
	}
	return err
}

func (w *world) open() {
	w.t.Helper()
	if err := w.openErr(); err != nil {
		w.t.Fatal(err)
	}
}

// restart ends the process cleanly and starts it again.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	if err := w.Registry.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.db.Close()
	w.open()
}

// kill ends the process at once: what it wrote stays.
func (w *world) kill() {
	w.disk = w.disk.Kill()
	w.stop()
	w.db.Close()
	w.Registry = nil
}

// crash is a power failure: what was not synced may be lost.
func (w *world) crash(rng *rand.Rand) {
	w.disk = w.disk.Crash(rng)
	w.stop()
	w.db.Close()
	w.Registry = nil
}

func (w *world) create(name string, partitions int32, settings ...string) *Topic {
	w.t.Helper()
	s := Spec{Name: name, Partitions: partitions, Settings: make(map[string]string)}
	for i := 0; i < len(settings); i += 2 {
		s.Settings[settings[i]] = settings[i+1]
	}
	t, err := w.Create(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func (w *world) partition(name string, n int32) *Partition {
	w.t.Helper()
	t, ok := w.Get(name)
	if !ok {
		w.t.Fatalf("topic %s is not there", name)
	}
	p, err := t.Partition(n)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// produced appends and waits until it is durable.
func (w *world) produce(p *Partition, b log.Batch) Appended {
	w.t.Helper()
	at, err := p.Append(b)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.WaitDurable(ctx, at.Last); err != nil {
		w.t.Fatal(err)
	}
	return at
}

// dirs are the names in a directory of the disk.
func (w *world) dirs(name string) []string {
	w.t.Helper()
	entries, err := w.disk.List(name)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// complaints are the lines logged at warning or above since the last call.
func (w *world) complaints() []string {
	var lines []string
	for line := range strings.Lines(w.logged.String()) {
		if strings.Contains(line, `"level":"warn"`) || strings.Contains(line, `"level":"error"`) {
			lines = append(lines, line)
		}
	}
	w.logged.mu.Lock()
	w.logged.b.Reset()
	w.logged.mu.Unlock()
	return lines
}

// batchOf makes a batch of these values, keyed by themselves, dated now.
func batchOf(t *testing.T, values ...string) log.Batch {
	t.Helper()
	return build(t, &log.Builder{}, values...)
}

// sequenced makes a batch of an idempotent producer.
func sequenced(t *testing.T, id int64, epoch int16, first int32, values ...string) log.Batch {
	t.Helper()
	return build(t, &log.Builder{Idempotent: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: first}, values...)
}

func build(t *testing.T, b *log.Builder, values ...string) log.Batch {
	t.Helper()
	for _, v := range values {
		b.Add(log.Record{Timestamp: time.Now().UnixMilli(), Key: []byte(v), Value: []byte(v)})
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}
