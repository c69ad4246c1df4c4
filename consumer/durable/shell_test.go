package durable

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs/memfs"
	"brokerd/topic"
	"brokerd/topic/stream"
)

// testOutlet is the clients of a test: what they listen to, how much they take, and what they got.
type testOutlet struct {
	mu        sync.Mutex
	listening map[string]bool
	room      map[string]int64 // unlimited when not named
	got       map[string][]Delivery
	published []string
	watchers  map[string]map[chan<- struct{}]int
	done      map[uint64]bool // messages that must not be sent any more
	wrong     []string        // what was sent of them
}

func newTestOutlet() *testOutlet {
	return &testOutlet{listening: map[string]bool{}, room: map[string]int64{}, got: map[string][]Delivery{},
		watchers: map[string]map[chan<- struct{}]int{}, done: map[uint64]bool{}}
}

func (o *testOutlet) Send(d Delivery) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.listening[d.Inbox] {
		return false
	}
	if a, err := parseAck(d.Reply, nil); err == nil && o.done[a.place.stream] {
		o.wrong = append(o.wrong, d.Reply)
	}
	d.Header, d.Data = slices.Clone(d.Header), slices.Clone(d.Data)
	o.got[d.Inbox] = append(o.got[d.Inbox], d)
	if left, limited := o.room[d.Inbox]; limited {
		o.room[d.Inbox] = left - int64(len(d.Data))
	}
	return true
}

func (o *testOutlet) Listening(inbox, _ string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.listening[inbox]
}

func (o *testOutlet) Room(inbox string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left, limited := o.room[inbox]; limited {
		return left
	}
	return 1 << 30
}

func (o *testOutlet) Watch(inbox string, ch chan<- struct{}) func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watchers[inbox] == nil {
		o.watchers[inbox] = map[chan<- struct{}]int{}
	}
	o.watchers[inbox][ch]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.watchers[inbox][ch]--; o.watchers[inbox][ch] == 0 {
			delete(o.watchers[inbox], ch)
		}
	}
}

func (o *testOutlet) Publish(subject string, _, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.published = append(o.published, subject+" "+string(data))
}

// listen makes somebody listen, or stop.
func (o *testOutlet) listen(inbox string, on bool) {
	o.change(inbox, func() { o.listening[inbox] = on })
}

// setRoom says how many bytes an inbox takes from now on.
func (o *testOutlet) setRoom(inbox string, bytes int64) {
	o.change(inbox, func() { o.room[inbox] = bytes })
}

func (o *testOutlet) change(inbox string, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
	for ch := range o.watchers[inbox] {
		poke(ch)
	}
}

// take returns what came to an inbox since the last time, one line each: the sequences and attempts, or the status.
func (o *testOutlet) take(inbox string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, d := range o.got[inbox] {
		if a, err := parseAck(d.Reply, nil); err == nil {
			pending := d.Reply[strings.LastIndex(d.Reply, ".")+1:]
			lines = append(lines, fmt.Sprintf("%s #%dx%d left %s", d.Subject, a.place.stream, a.deliveries, pending))
			continue
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(string(d.Header), "NATS/1.0 "), "\r\n")
		lines = append(lines, line)
	}
	delete(o.got, inbox)
	return lines
}

// replies returns the ack subjects of what came to an inbox, and takes it.
func (o *testOutlet) replies(inbox string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, d := range o.got[inbox] {
		if strings.HasPrefix(d.Reply, ackPrefix) {
			list = append(list, d.Reply)
		}
	}
	delete(o.got, inbox)
	return list
}

// advisories returns what was published since the last time, the kinds alone.
func (o *testOutlet) advisories() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var kinds []string
	for _, p := range o.published {
		subject, _, _ := strings.Cut(p, " ")
		kinds = append(kinds, strings.TrimPrefix(subject, "$JS.EVENT."))
	}
	o.published = nil
	return kinds
}

// world is consumers of real streams on a disk in memory, over several lives of the process.
type world struct {
	*Consumers
	t       *testing.T
	disk    *memfs.FS
	path    string
	outlet  *testOutlet
	streams *stream.Streams
	topics  *topic.Registry
	stop    func()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, disk: memfs.New(), path: filepath.Join(t.TempDir(), "meta.db"), outlet: newTestOutlet()}
	if err := w.disk.MkdirAll("data"); err != nil {
		t.Fatal(err)
	}
	if err := w.disk.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) start() {
	w.t.Helper()
	db, err := bbolt.Open(w.path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		w.t.Fatal(err)
	}
	committer := log.NewCommitter(log.CommitterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	logs, end := context.WithCancel(context.Background())
	var below, above sync.WaitGroup
	below.Go(func() { committer.Run(logs) })
	w.topics, err = topic.Open(ctx, topic.Options{DB: db, FS: w.disk, Dir: "data", Committer: committer,
		Files: log.NewFiles(64), Logger: zerolog.Nop()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.streams, err = stream.Open(stream.Options{Topics: w.topics, Logger: zerolog.Nop()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Consumers, err = Open(Options{DB: db, Streams: w.streams, Outlet: w.outlet, Logger: zerolog.Nop()})
	if err != nil {
		w.t.Fatal(err)
	}
	streams, consumers := w.streams, w.Consumers
	below.Go(func() { streams.Run(logs) })
	above.Go(func() { consumers.Run(ctx) })
	w.stop = sync.OnceFunc(func() { cancel(); above.Wait(); end(); below.Wait(); db.Close() })
}

// restart ends the process and starts it again.
func (w *world) restart() {
	w.stop()
	w.start()
}

func (w *world) stream(c stream.Config) *stream.Stream {
	w.t.Helper()
	s, err := w.streams.Create(c, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) consumer(config string) *Consumer {
	w.t.Helper()
	c, err := w.Create("S", mustConfig(w.t, config), CreateOrUpdate)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// publish stores messages with these subjects.
func (w *world) publish(s *stream.Stream, subjects ...string) {
	w.t.Helper()
	for _, name := range subjects {
		done := make(chan error, 1)
		s.Publish(stream.Publication{Subject: name, Data: []byte("data of " + name), Done: func(_ stream.Receipt, err error) { done <- err }})
		if err := <-done; err != nil {
			w.t.Fatal(err)
		}
	}
}

// acked acknowledges, and waits until that is saved.
func (w *world) acked(subject, body string) {
	w.t.Helper()
	if err := w.tryAck(subject, body); err != nil {
		w.t.Fatalf("ack %s: %v", subject, err)
	}
}

func (w *world) tryAck(subject, body string) error {
	done := make(chan error, 1)
	w.Ack(subject, "reply", []byte(body), func(err error) { done <- err })
	return <-done
}

// got waits until an inbox got as much as this, and compares.
func (w *world) got(inbox string, want ...string) {
	w.t.Helper()
	var got []string
	w.until(func() bool {
		got = append(got, w.outlet.take(inbox)...)
		return len(got) >= len(want)
	}, func() string { return fmt.Sprintf("%s got %q, want %q", inbox, got, want) })
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s got\n %q, want\n %q", inbox, got, want)
	}
}

// until waits for a condition.
func (w *world) until(ok func() bool, complaint func() string) {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatal(complaint())
		}
		<-time.After(time.Millisecond)
	}
}

// kill ends the process as a power failure does: what it did not wait for may be lost.
func (w *world) kill() {
	w.t.Helper()
	b, err := os.ReadFile(w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	disk := w.disk.Crash(nil)
	w.stop()
	w.disk, w.path = disk, filepath.Join(w.t.TempDir(), "meta.db")
	if err := os.WriteFile(w.path, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// finish notes that a message must not be sent any more.
func (o *testOutlet) finish(sequence uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done[sequence] = true
}
