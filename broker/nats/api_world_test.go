package nats

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/consumer/durable"
	"brokerd/log"
	"brokerd/log/vfs/memfs"
	"brokerd/topic"
	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// world is the API over real streams and consumers, with the disk in memory and a door that nobody went through yet.
type world struct {
	*services
	t      testing.TB
	door   *notes
	caller *caller
	asked  string // the last request
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, door: &notes{arrived: make(chan struct{}, 1)}}
	w.door.world = w
	streams, consumers, run := jetStream(t, w.door, func(kind, name string, advisory any) { w.api.tell(kind, name, advisory) })
	server := identity{name: "brokerd", id: "ID", version: "2.12.0", host: "127.0.0.1"}
	a := newAPI(streams, consumers, w.door, server, zerolog.Nop())
	w.services = &services{api: a, system: &system{door: w.door, server: server, monitor: nobody{}, api: a}}
	ctx, cancel := context.WithCancel(context.Background())
	w.caller = newCaller(ctx, nobody{})
	run()
	t.Cleanup(func() {
		cancel()
		w.caller.wait()
	})
	return w
}

// jetStream makes streams and consumers, with the disk in memory and a real database. After run they run until the test
// ends.
func jetStream(t testing.TB, outlet durable.Outlet, advise func(kind, name string, advisory any)) (
	_ *stream.Streams, _ *durable.Consumers, run func(),
) {
	t.Helper()
	disk := memfs.New()
	if err := errors.Join(disk.MkdirAll("data"), disk.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "meta.db"), 0o600, &bbolt.Options{Timeout: time.Second, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	committer := log.NewCommitter(log.CommitterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var running, syncing sync.WaitGroup
	syncing.Go(func() { committer.Run(ctx) })
	topics, err := topic.Open(ctx, topic.Options{
		DB: db, FS: disk, Dir: "data", Committer: committer, Files: log.NewFiles(64), Logger: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	streams, err := stream.Open(stream.Options{
		Topics: topics, Logger: zerolog.Nop(), Advise: advise,
		Republish: func(subject string, header, data []byte) { outlet.Publish(subject, header, data) },
	})
	if err != nil {
		t.Fatal(err)
	}
	consumers, err := durable.Open(durable.Options{DB: db, Streams: streams, Outlet: outlet, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	t.Cleanup(func() {
		stop()
		running.Wait()
		cancel()
		syncing.Wait()
		_ = db.Close()
	})
	return streams, consumers, func() {
		running.Go(func() { _ = streams.Run(serving) })
		running.Go(func() { _ = consumers.Run(serving) })
	}
}

// nobody is a client that says nothing about itself, and a server without connections.
type nobody struct{}

func (nobody) client() clientInfo        { return clientInfo{Account: account, Name: "test"} }
func (nobody) user() userInfo            { return infoOf(User{}) }
func (nobody) barred() bool              { return false }
func (nobody) counts() counts            { return counts{Start: time.Now()} }
func (nobody) connections() []connection { return nil }

// note is a message that a client would have got.
type note struct {
	inbox, subject, reply string
	header, data          string
}

// notes is a door that keeps what is sent to the inboxes that are listened on.
type notes struct {
	world   *world
	arrived chan struct{} // has room for one

	mu      sync.Mutex
	sent    []note
	filters []string
}

func (n *notes) listen(filter string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.filters = append(n.filters, filter)
}

func (n *notes) add(sent note) bool {
	if !n.Listening(sent.inbox, "") {
		return false
	}
	n.mu.Lock()
	n.sent = append(n.sent, sent)
	n.mu.Unlock()
	select {
	case n.arrived <- struct{}{}:
	default:
	}
	return true
}

func (n *notes) Answer(subject, reply string, header, data []byte) {
	n.add(note{subject, subject, reply, string(header), string(data)})
	if s, ok := n.world.api.streams.ForSubject(subject); ok {
		n.world.api.store(s, subject, "", header, data, func() {})
	}
}

func (n *notes) Publish(subject string, header, data []byte) { n.Answer(subject, "", header, data) }

func (n *notes) Send(d durable.Delivery) bool {
	return n.add(note{d.Inbox, d.Subject, d.Reply, string(d.Header), string(d.Data)})
}

func (n *notes) Listening(inbox, _ string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.filters {
		if subject.Match(f, inbox) {
			return true
		}
	}
	return false
}

func (n *notes) Subscribed(subject string) bool                { return n.Listening(subject, "") }
func (n *notes) Room(string) int64                             { return 1 << 20 }
func (n *notes) Watch(string, chan<- struct{}) (cancel func()) { return func() {} }

// next takes the next message for inbox, and waits for it.
func (n *notes) next(t testing.TB, inbox string) note {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		n.mu.Lock()
		for i, sent := range n.sent {
			if sent.inbox == inbox {
				n.sent = append(n.sent[:i:i], n.sent[i+1:]...)
				n.mu.Unlock()
				return sent
			}
		}
		n.mu.Unlock()
		select {
		case <-n.arrived:
		case <-late:
			t.Fatalf("nothing came to %s after %s", inbox, n.world.asked)
		}
	}
}

// ask makes a request, and returns its answer; "nobody" when nobody is there. Header lines are separated by "; ".
func (w *world) ask(subject, header, body string) note {
	w.t.Helper()
	const inbox = "_INBOX.ask"
	w.door.listen(inbox)
	var block []byte
	if header != "" {
		block = []byte("NATS/1.0\r\n" + strings.ReplaceAll(header, "; ", "\r\n") + "\r\n\r\n")
	}
	if forBroker(subject) {
		if !w.take(&request{subject: subject, reply: inbox, header: block, body: []byte(body), from: w.caller}) {
			return note{data: "nobody"}
		}
	} else if s, ok := w.api.streams.ForSubject(subject); ok {
		w.api.store(s, subject, inbox, block, []byte(body), func() {})
	} else {
		return note{data: "nobody"}
	}
	return w.door.next(w.t, inbox)
}
