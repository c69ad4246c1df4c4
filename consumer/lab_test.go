package consumer

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"brokerd/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTopics is the topics of a test.
type testTopics struct {
	mu      sync.Mutex
	byName  map[string]Topic
	version uint64
}

func (t *testTopics) Find(name string) (Topic, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.byName[name]
	return found, ok
}

func (t *testTopics) All() []Topic {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.byName))
}

func (t *testTopics) Version() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// set makes a topic, or deletes it when the id is 0.
func (t *testTopics) set(name string, id byte, partitions int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]Topic{}
	}
	delete(t.byName, name)
	if id != 0 {
		t.byName[name] = Topic{name, topic.ID{id}, partitions}
	}
	t.version++
}

// lab is Groups on a real file.
type lab struct {
	*Groups
	t      *testing.T
	db     *bbolt.DB
	topics *testTopics
	stop   func()
}

func newLab(t *testing.T, s Settings) *lab {
	c := &testTopics{}
	c.set("t", 1, 4)
	c.set("u", 2, 4)
	return openLab(t, filepath.Join(t.TempDir(), "meta.db"), s, c)
}

func openLab(t *testing.T, path string, s Settings, c *testTopics) *lab {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Open(Options{DB: db, Topics: c, Settings: s, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	l := &lab{Groups: g, t: t, db: db, topics: c}
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		db.Close()
	})
	t.Cleanup(l.stop)
	return l
}

// killed opens what is on disk now, as after a kill -9; l goes on to its own end.
func (l *lab) killed() *lab {
	l.t.Helper()
	b, err := os.ReadFile(l.db.Path())
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.t.TempDir(), "meta.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return openLab(l.t, path, l.settings, l.topics)
}

func quick() Settings {
	s := DefaultSettings()
	s.InitialDelay = 0
	return s
}

// result waits for an answer that has to come.
func result[T any](t *testing.T, w Wait[T]) T {
	t.Helper()
	v, err := attempt(t, w)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func attempt[T any](t *testing.T, w Wait[T]) (T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	return w(ctx)
}

func joining(group, client, id string) *JoinRequest {
	return &JoinRequest{
		Group: group, ClientID: client, MemberID: id, Host: "/127.0.0.1", ProtocolType: "consumer",
		Protocols:      []Protocol{{"range", kafkaSubscription("t")}},
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
	}
}

// kafkaSubscription is what a Kafka consumer says when it subscribes to one topic.
func kafkaSubscription(name string) []byte {
	return append([]byte{0, 1, 0, 0, 0, 1, 0, byte(len(name))}, name...)
}

// single makes a stable group of one member and returns its id.
func (l *lab) single(group string) string {
	l.t.Helper()
	j := result(l.t, l.Join(joining(group, "c", "")))
	s := result(l.t, l.Sync(&SyncRequest{Group: group, MemberID: j.MemberID, Generation: j.Generation,
		Assignments: map[string][]byte{j.MemberID: []byte("all")}}))
	if string(s.Assignment) != "all" {
		l.t.Fatalf("assignment is %q", s.Assignment)
	}
	return j.MemberID
}

func commit(group, topic string, partition int32, offset int64) *CommitRequest {
	return &CommitRequest{Group: group, Generation: -1,
		Offsets: []Committed{{topic, partition, Offset{Offset: offset, LeaderEpoch: 3, Metadata: "note"}}}}
}

func (l *lab) commit(r *CommitRequest) {
	l.t.Helper()
	for _, err := range result(l.t, l.Commit(r)) {
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) wantOffset(group, topic string, want int64) {
	l.t.Helper()
	o, ok := l.Committed(group, topic, 0)
	if !ok {
		o.Offset = -1
	}
	if o.Offset != want {
		l.t.Errorf("%s, %s: offset is %d, want %d", group, topic, o.Offset, want)
	}
}
