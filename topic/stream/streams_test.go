package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

// failer is a test, or a run of one by rapid.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// broker is streams over topics on a disk in memory and a real database, over several lives of the process.
type broker struct {
	*Streams
	topics  *topic.Registry
	t       failer
	disk    *memfs.FS
	db      *bbolt.DB
	path    string
	stop    func()
	advised []string
}

func newBroker(t testing.TB) *broker {
	t.Helper()
	return newBrokerIn(t, t.TempDir())
}

// newBrokerIn has its database in dir.
func newBrokerIn(t failer, dir string) *broker {
	t.Helper()
	b := &broker{t: t, disk: memfs.New(), path: filepath.Join(dir, "meta.db")}
	if err := b.disk.MkdirAll("data"); err != nil {
		t.Fatal(err)
	}
	if err := b.disk.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	b.start()
	return b
}

func (b *broker) start() {
	b.t.Helper()
	var err error
	if b.db, err = bbolt.Open(b.path, 0o600, &bbolt.Options{Timeout: time.Second, NoSync: true}); err != nil {
		b.t.Fatal(err)
	}
	committer := log.NewCommitter(log.CommitterOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { committer.Run(ctx) })
	b.topics, err = topic.Open(ctx, topic.Options{
		DB: b.db, FS: b.disk, Dir: "data", Committer: committer, Files: log.NewFiles(64), Logger: zerolog.Nop(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Streams, err = Open(Options{Topics: b.topics, Logger: zerolog.Nop(), Advise: func(kind, token string, _ any) {
		b.advised = append(b.advised, kind+"."+token)
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.stop = func() { cancel(); wg.Wait(); b.db.Close() }
}

// crash is a power failure, and the next start.
func (b *broker) crash() {
	b.t.Helper()
	b.end()
	b.start()
}

func (b *broker) end() {
	b.disk = b.disk.Crash(nil)
	b.stop()
}

func (b *broker) create(c Config) *Stream {
	b.t.Helper()
	s, err := b.Create(c, false)
	if err != nil {
		b.t.Fatalf("create %s: %v", c.Name, err)
	}
	return s
}

// topicErr makes a topic with one partition as a Kafka client does.
func (b *broker) topicErr(name string) error {
	_, err := b.topics.Create(topic.Spec{Name: name, Partitions: 1})
	return err
}

func (b *broker) topic(name string, partitions int32, settings ...string) {
	b.t.Helper()
	s := topic.Spec{Name: name, Partitions: partitions, Settings: make(map[string]string)}
	for i := 0; i < len(settings); i += 2 {
		s.Settings[settings[i]] = settings[i+1]
	}
	if _, err := b.topics.Create(s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) set(name string, settings ...string) {
	b.t.Helper()
	var list []topic.Change
	for i := 0; i < len(settings); i += 2 {
		list = append(list, topic.Change{Key: settings[i], Value: settings[i+1]})
	}
	if err := b.topics.Alter(name, list, false); err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) names() (names []string) {
	for _, s := range b.List("") {
		names = append(names, s.Name())
	}
	return names
}

func (b *broker) config(name string) Config {
	b.t.Helper()
	s, ok := b.Get(name)
	if !ok {
		b.t.Fatalf("there is no stream %s", name)
	}
	return s.Config()
}

func (b *broker) goesTo(subject, want string) {
	b.t.Helper()
	got := ""
	if s, ok := b.ForSubject(subject); ok {
		got = s.Name()
	}
	if got != want {
		b.t.Errorf("%s goes to %q, want %q", subject, got, want)
	}
}

// TestStreamsAnswer runs the conversation of TestConfigs with real streams.
func TestStreamsAnswer(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	conversation(t, "testdata/configs.txt", func(verb, body string) string {
		q, refused := decodeRequest(body)
		if refused != "" {
			return refused
		}
		do := b.Create
		if verb == "update" {
			do = b.Update
		}
		s, err := do(q.Config, q.Pedantic)
		if err != nil {
			return told(err)
		}
		return shown(s.Config())
	})
	before := configs(b)
	delete(before, "WORDS") // it was in memory
	b.crash()
	after := configs(b)
	for name, c := range before {
		if after[name] != c {
			t.Errorf("after a restart there is\n%s\nbefore there was\n%s", after[name], c)
		}
	}
	if len(after) != len(before) {
		t.Errorf("after a restart there are %d streams, before there were %d", len(after), len(before))
	}
}

// configs are those of all streams by name, encoded.
func configs(b *broker) map[string]string {
	m := make(map[string]string)
	for _, s := range b.List("") {
		m[s.Name()] = string(encode(s.Config()))
	}
	return m
}

func TestStreamsCreateUpdateDelete(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	orders := b.create(Config{Name: "ORDERS", Subjects: []string{"orders.>"}})
	b.goesTo("orders.1", "ORDERS")
	b.goesTo("orders", "")
	if again := b.create(Config{Name: "ORDERS", Subjects: []string{"orders.>"}}); again != orders {
		t.Error("the same configuration is another stream")
	}
	if s, err := b.Update(Config{Name: "ORDERS", Subjects: []string{"o.*"}}, false); err != nil || s != orders {
		t.Fatalf("%v, %v", s, err)
	}
	b.goesTo("orders.1", "")
	b.goesTo("o.1", "ORDERS")
	var gone []string
	b.OnDelete(func(s *Stream) { gone = append(gone, fmt.Sprint(s.Name(), s.Gone())) })
	if err := b.Delete("ORDERS"); err != nil {
		t.Fatal(err)
	}
	b.goesTo("o.1", "")
	if !slices.Equal(gone, []string{"ORDERStrue"}) {
		t.Errorf("told %q", gone)
	}
	if err := b.Delete("ORDERS"); !errors.Is(err, ErrStreamNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	want := []string{"STREAM.CREATED.ORDERS", "STREAM.UPDATED.ORDERS", "STREAM.DELETED.ORDERS"}
	if !slices.Equal(b.advised, want) {
		t.Errorf("advised %q", b.advised)
	}
}

func TestStreamsRefuseUpdates(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.create(Config{Name: "S"})
	b.OnUpdate(func(s *Stream, next Config) error {
		if next.Limits.MaxAckPending < 5 {
			return UpdateFailed(errors.New("change to limits violates consumers: c"))
		}
		return nil
	})
	_, err := b.Update(Config{Name: "S", Limits: ConsumerLimits{MaxAckPending: 4}}, false)
	if !errors.Is(err, UpdateFailed(io.EOF)) || b.config("S").Limits.MaxAckPending != 0 {
		t.Errorf("%v, %+v", err, b.config("S").Limits)
	}
	if _, err = b.Update(Config{Name: "S", Limits: ConsumerLimits{MaxAckPending: 5}}, false); err != nil {
		t.Error(err)
	}
}

func TestStreamsList(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.create(Config{Name: "KV_b", Subjects: []string{"$KV.b.>"}})
	b.create(Config{Name: "A", Subjects: []string{"x", "y.*"}})
	b.topic("t", 2)
	for filter, want := range map[string]string{
		"":        "A KV_b t-0 t-1",
		"$KV.*.>": "KV_b",
		"y.z":     "A",
		">":       "A KV_b t-0 t-1",
		"z":       "",
		"t.k":     "t-0 t-1",
	} {
		var names []string
		for _, s := range b.List(filter) {
			names = append(names, s.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("List(%q) = %q, want %q", filter, got, want)
		}
	}
}

func TestTopicsAreStreams(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.create(Config{Name: "NATS", Subjects: []string{"orders.eu.>"}})
	var gone []string
	b.OnDelete(func(s *Stream) { gone = append(gone, s.Name()) })

	b.topic("orders", 1)
	b.topic("a.b", 1, "cleanup.policy", "compact", "retention.ms", "5000")
	b.topic("_INBOX.x", 1)
	if got, want := b.names(), []string{"NATS", "_INBOX_x", "a_b", "orders"}; !slices.Equal(got, want) {
		t.Fatalf("streams %q", got)
	}
	b.goesTo("orders", "orders")
	b.goesTo("orders.1", "orders")
	b.goesTo("orders.eu.1", "NATS")
	b.goesTo("a.b.c", "a_b")
	b.goesTo("a", "")
	b.goesTo("_INBOX.x.1", "")
	if c := b.config("orders"); !slices.Equal(c.Subjects, []string{"orders", "orders.>"}) || c.MaxAge != 7*24*time.Hour || c.MaxMsgsPer != -1 {
		t.Errorf("%+v", c)
	}
	if c := b.config("a_b"); c.MaxMsgsPer != 1 || c.MaxAge != 0 {
		t.Errorf("%+v", c)
	}

	for _, c := range []struct {
		c    Config
		want *Error
	}{
		{Config{Name: "orders"}, ErrStreamExists},
		{Config{Name: "a_b"}, ErrStreamExists},
		{Config{Name: "O", Subjects: []string{"orders.us"}}, ErrSubjectOverlap},
	} {
		if _, err := b.Create(c.c, false); !errors.Is(err, c.want) {
			t.Errorf("create %s: %v", c.c.Name, err)
		}
	}
	if s, err := b.Create(b.config("orders"), false); err != nil || s.Name() != "orders" {
		t.Errorf("create what there is: %v", err)
	}

	if err := b.topics.AddPartitions("orders", 3, false); err != nil {
		t.Fatal(err)
	}
	if got, want := b.names(), []string{"NATS", "_INBOX_x", "a_b", "orders-0", "orders-1", "orders-2"}; !slices.Equal(got, want) {
		t.Fatalf("streams %q", got)
	}
	b.goesTo("orders.k", fmt.Sprint("orders-", partitionOf("k", 3)))
	first, _ := b.Get("orders-0")
	if err := b.topics.AddPartitions("orders", 4, false); err != nil {
		t.Fatal(err)
	}
	if same, _ := b.Get("orders-0"); same != first || len(b.names()) != 7 {
		t.Errorf("streams %q; a partition more makes the others new: %v", b.names(), same != first)
	}
	b.topic("orders-1", 1) // goes first
	if s, _ := b.Get("orders-1"); !slices.Equal(s.Config().Subjects, []string{"orders-1", "orders-1.>"}) {
		t.Errorf("%+v", s.Config())
	}
	if err := b.Delete("orders-0"); !errors.Is(err, DeleteFailed(io.EOF)) {
		t.Errorf("delete a partition: %v", err)
	}
	if err := b.topics.Delete("orders"); err != nil {
		t.Fatal(err)
	}
	if got, want := b.names(), []string{"NATS", "_INBOX_x", "a_b", "orders-1"}; !slices.Equal(got, want) {
		t.Fatalf("streams %q", got)
	}
	if want := []string{"orders", "orders-0", "orders-1", "orders-2", "orders-3"}; !slices.Equal(gone, want) {
		t.Errorf("told of the end of %q", gone)
	}
}

func TestSettingsAreConfiguration(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.create(Config{Name: "S", MaxAge: time.Minute + 1, MaxBytes: 1 << 20, Compression: S2, MaxMsgsPer: 1, MaxMsgSize: 2 << 20})
	if c := b.config("S"); c.MaxAge != time.Minute+1 {
		t.Errorf("a shown setting changed the configuration: %+v", c)
	}
	t1, _ := b.topics.Get("S")
	got := valuesOf(t1)
	for name, want := range map[string]string{
		"retention.ms": "60001", "retention.bytes": "1048576", "compression.type": "snappy", "cleanup.policy": "compact",
		"delete.retention.ms": forever, "durability": "sync", "max.message.bytes": "2101248",
		"message.timestamp.type": "LogAppendTime",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if c := t1.Config(); c.Log.RetentionAge != -1 || c.Log.RetentionBytes != -1 {
		t.Errorf("the log keeps the limits by its own rules: %+v", c.Log)
	}

	b.set("S", "retention.ms", "5000", "retention.bytes", "-1", "compression.type", "producer", "cleanup.policy", "delete",
		"durability", "async", "max.message.bytes", "1000", "segment.ms", "100000")
	c := b.config("S")
	if c.MaxAge != 5*time.Second || c.Duplicates != 5*time.Second || c.MaxBytes != -1 || c.Compression != Uncompressed ||
		c.MaxMsgsPer != -1 || c.PersistMode != PersistAsync || c.MaxMsgSize != 1000 {
		t.Errorf("what Kafka changed does not show: %+v", c)
	}
	c.MaxAge, c.Description = 10*time.Second, "changed"
	if _, err := b.Update(c, false); err != nil {
		t.Fatal(err)
	}
	b.crash()
	if got := b.config("S"); !slices.Equal(encode(got), encode(c)) {
		t.Errorf("got  %s\nwant %s", encode(got), encode(c))
	}
	t1, _ = b.topics.Get("S")
	if v := valuesOf(t1); v["retention.ms"] != "10000" || v["segment.ms"] != "100000" || v["cleanup.policy"] != "delete" {
		t.Errorf("settings %v", v)
	}
}

func TestStreamsChangeTopics(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.topic("t", 2)
	c := b.config("t-1")
	c.MaxAge, c.Duplicates, c.MaxMsgsPer = time.Hour, 2*time.Minute, 1
	if _, err := b.Update(c, false); err != nil {
		t.Fatal(err)
	}
	made, _ := b.topics.Get("t")
	if v := valuesOf(made); v["retention.ms"] != "3600000" || v["cleanup.policy"] != "compact,delete" || made.Stream() != nil {
		t.Errorf("settings %v", v)
	}
	if got := b.config("t-0"); got.MaxAge != time.Hour || got.MaxMsgsPer != 1 {
		t.Errorf("the other partition has %+v", got)
	}
	for _, edit := range []func(*Config){
		func(c *Config) { c.Subjects = []string{"x"} },
		func(c *Config) { c.MaxMsgs = 5 },
		func(c *Config) { c.MaxMsgsPer = 2 },
		func(c *Config) { c.Duplicates = time.Second },
		func(c *Config) { c.AllowRollup = true },
	} {
		wrong := b.config("t-1")
		edit(&wrong)
		if _, err := b.Update(wrong, false); !errors.Is(err, InvalidConfig(io.EOF)) && !errors.Is(err, ErrSubjectOverlap) {
			t.Errorf("got %v", err)
		}
	}
}

func TestDamagedConfigurationIsLeftOut(t *testing.T) {
	b := newBroker(t)
	defer b.end()
	b.create(Config{Name: "GOOD"})
	b.create(Config{Name: "BAD"})
	if err := b.topics.AlterStream("BAD", []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); !slices.Equal(got, []string{"GOOD"}) {
		t.Errorf("streams %q", got)
	}
	b.crash()
	if got := b.names(); !slices.Equal(got, []string{"GOOD"}) {
		t.Errorf("streams %q", got)
	}
	if _, err := b.Create(Config{Name: "BAD"}, false); !errors.Is(err, ErrStreamExists) {
		t.Errorf("made over it: %v", err)
	}
}

// A look at all streams has no topic's log read.
func TestGlance(t *testing.T) {
	l := newLive(t)
	l.topic("t", 1)
	if st, err := l.List("t")[0].Glance(); st != (State{}) || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
	s := l.stream("t")
	l.publish(s, "t.a", "1")
	l.publish(s, "t.b", "2")
	l.restart()
	listed := l.List("t")[0]
	st, err := listed.Glance()
	if err != nil || st.Messages != 2 || st.First != 1 || st.Last != 2 || st.Bytes == 0 || st.Subjects != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if listed.loaded.Load() {
		t.Error("an index was made")
	}
	l.state(listed)
	if st, _ := listed.Glance(); st != l.state(listed) || st.Subjects != 2 {
		t.Errorf("%+v", st)
	}
}
