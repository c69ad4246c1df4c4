package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// patience is for what should take milliseconds, on a busy machine.
const patience = 30 * time.Second

func testConfig(dir string) Config {
	c := Default()
	c.Data = dir
	c.Kafka.Listen, c.NATS.Listen, c.HTTP.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return c
}

// testBroker is a broker that runs in this process.
type testBroker struct {
	*Broker
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
}

// serveHere starts a broker and returns when it is ready.
func serveHere(t *testing.T, c Config) *testBroker { return serveOn(t, c, vfs.OS{}) }

func serveOn(t *testing.T, c Config, fsys vfs.FS) *testBroker {
	t.Helper()
	b, err := open(c, zerolog.New(zerolog.NewTestWriter(t)), fsys)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tb := &testBroker{Broker: b, t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() { tb.ended <- b.Run(ctx) }()
	t.Cleanup(cancel)
	select {
	case <-b.Ready():
	case err := <-tb.ended:
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	return tb
}

func (b *testBroker) stop() {
	b.t.Helper()
	b.cancel()
	select {
	case err := <-b.ended:
		if err != nil {
			b.t.Errorf("stopped with %v", err)
		}
	case <-time.After(patience):
		b.t.Fatal("did not stop")
	}
}

// get returns the status and the body of an admin page.
func (b *testBroker) get(path string) (int, string) {
	b.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	r, err := client.Get("http://" + b.HTTPAddr().String() + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestRunStopRun(t *testing.T) {
	dir := t.TempDir()
	var ids []Identity
	for range 2 {
		b := serveHere(t, testConfig(dir))
		for _, path := range []string{"/healthz", "/readyz"} {
			if status, body := b.get(path); status != 200 || body != "ok\n" {
				t.Errorf("%s: %d %q", path, status, body)
			}
		}
		if status, _ := b.get("/debug/pprof/"); status != 404 {
			t.Errorf("profiles are served unasked: %d", status)
		}
		c, err := net.Dial("tcp", b.KafkaAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ids = append(ids, b.id)
		b.stop()
	}
	if ids[0] != ids[1] {
		t.Errorf("the identity changed: %+v", ids)
	}
}

func TestSecondBrokerIsRefused(t *testing.T) {
	c := testConfig(t.TempDir())
	b := serveHere(t, c)
	if _, err := Open(c, zerolog.Nop()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), c.Data) {
		t.Errorf("got %v, want ErrInUse with the directory", err)
	}
	if status, _ := b.get("/readyz"); status != 200 {
		t.Errorf("the first broker suffered: %d", status)
	}
	b.stop()
}

func TestStartFailures(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"HTTP port in use", func(c *Config) { c.HTTP.Listen = taken.Addr().String() }, "start admin HTTP: listen"},
		{"Kafka port in use", func(c *Config) { c.Kafka.Listen = taken.Addr().String() }, "start Kafka: listen"},
		{"unknown topic setting", func(c *Config) { c.Topic.Settings = Settings{"retention.mss": "1"} }, "topic.settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := testConfig(t.TempDir())
			c.change(&config)
			b, err := Open(config, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Run(context.Background()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			serveHere(t, testConfig(config.Data)).stop() // the directory was given back
		})
	}
}

func TestToldToStopDuringTheStart(t *testing.T) {
	c := testConfig(t.TempDir())
	b, err := Open(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Run(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}

// useEverything makes a topic with a record and a group with an offset, so that all metrics have a value.
func useEverything(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "a"); err != nil {
		t.Fatal(err)
	}
	compact := "compact"
	if _, err := admin.CreateTopic(ctx, 1, 1, map[string]*string{"cleanup.policy": &compact}, "c"); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("a", 0, 1, -1)
	if err := admin.CommitAllOffsets(ctx, "g", offsets); err != nil {
		t.Fatal(err)
	}
}

// A disk that fails takes the partition's writes, and nothing else: reads go on, and the health says which one it is.
func TestFailedSyncIsNamed(t *testing.T) {
	disk := memfs.New()
	b := serveOn(t, testConfig(t.TempDir()), disk)
	useEverything(t, b.KafkaAddr().String())

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr().String()), kgo.ConsumeTopics("a"),
		kgo.DefaultProduceTopic("a"), kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	disk.Fail(memfs.From(memfs.Sync, "*", 1, syscall.EIO))
	if err := client.ProduceSync(ctx, kgo.StringRecord("y")).FirstErr(); err == nil {
		t.Error("a record was acknowledged without a sync")
	}
	status, body := b.get("/healthz")
	if status != 503 || !strings.Contains(body, "topic a partition 0") || !strings.Contains(body, syscall.EIO.Error()) {
		t.Errorf("/healthz: %d %q", status, body)
	}
	if _, body := b.get("/metrics"); !strings.Contains(body, `brokerd_log_failed{partition="0",topic="a"} 1`) {
		t.Error("brokerd_log_failed is not 1")
	}
	if records := client.PollFetches(ctx).Records(); len(records) != 1 || string(records[0].Value) != "x" {
		t.Errorf("read %v, want what was acknowledged", records)
	}
	b.cancel()
	if err := <-b.ended; !errors.Is(err, log.ErrFailed) {
		t.Errorf("stopped with %v, want the failure", err)
	}
}

// Every metric is in docs/metrics.md, and every metric named there is served.
func TestMetricsAreDocumented(t *testing.T) {
	b := serveHere(t, testConfig(t.TempDir()))
	defer b.stop()
	useEverything(t, b.KafkaAddr().String())
	status, body := b.get("/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	var served []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (brokerd_\w+) `).FindAllStringSubmatch(body, -1) {
		served = append(served, m[1])
	}
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(brokerd_\\w+)` ").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(served)
	slices.Sort(documented)
	if !slices.Equal(served, documented) {
		t.Errorf("served\n%s\ndocumented\n%s", strings.Join(served, "\n"), strings.Join(documented, "\n"))
	}
}
