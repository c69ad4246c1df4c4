package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"brokerd/broker"
)

// demoStart bounds the start of the demo's broker.
const demoStart = 30 * time.Second

// demoPlace is where the demo's broker keeps its data and listens. What is empty is settled before the start.
type demoPlace struct {
	data, kafka, nats, http string
	temporary               bool
}

// settle fills in the defaults, or free ones, and says what it had to change.
func (p *demoPlace) settle() (remarks []string, err error) {
	defaults := broker.Default()
	for _, l := range []struct {
		address  *string
		fallback string
		name     string
	}{
		{&p.kafka, defaults.Kafka.Listen, "Kafka"},
		{&p.nats, defaults.NATS.Listen, "NATS"},
		{&p.http, defaults.HTTP.Listen, "HTTP"},
	} {
		if *l.address != "" {
			continue
		}
		*l.address = l.fallback
		if !free(l.fallback) {
			*l.address = "127.0.0.1:0"
			remarks = append(remarks, l.fallback+" is taken: "+l.name+" gets a free port")
		}
	}
	if p.data != "" {
		return remarks, nil
	}
	p.data = defaults.Data
	if _, err := os.Stat(p.data); err != nil {
		return remarks, nil
	}
	p.temporary = true
	if p.data, err = os.MkdirTemp("", "brokerd-demo-"); err != nil {
		return nil, fmt.Errorf("demo: make a directory for the data: %w", err)
	}
	return append(remarks, defaults.Data+" is there already: the data is in "+p.data), nil
}

// free says that nobody listens on an address.
func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// clear removes a temporary directory.
func (p *demoPlace) clear() {
	if p.temporary {
		os.RemoveAll(p.data)
	}
}

// demoBroker is a broker that runs as a process of its own, so that it can be killed.
type demoBroker struct {
	place       demoPlace // with the real addresses
	kafka, nats string
	took        time.Duration // from the start to the ready line
	cmd         *exec.Cmd
	log         *tail
	ended       chan struct{} // closed when the process has ended
	err         error         // how; valid after ended
}

// startDemoBroker starts this program as a broker and waits until it is ready.
func startDemoBroker(ctx context.Context, place demoPlace) (*demoBroker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("demo: find the program: %w", err)
	}
	data, err := filepath.Abs(place.data)
	if err != nil {
		return nil, fmt.Errorf("demo: find the data: %w", err)
	}
	place.data = data
	b := &demoBroker{place: place, log: &tail{}, ended: make(chan struct{})}
	b.cmd = exec.Command(self, "serve", "--data", data, "--kafka", place.kafka, "--nats", place.nats, "--http", place.http,
		"--log-format", "json")
	b.cmd.Dir = os.TempDir()                                // no settings file is picked up there
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which ends it in its turn
	output, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("demo: start the broker: %w", err)
	}
	began := time.Now()
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("demo: start the broker: %w", err)
	}
	ready := make(chan readyLine, 1)
	go func() {
		defer close(b.ended)
		b.log.read(bufio.NewScanner(output), ready)
		b.err = b.cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, demoStart)
	defer cancel()
	select {
	case line := <-ready:
		b.took = time.Since(began)
		b.kafka, b.nats = line.Kafka, line.NATS
		b.place.kafka, b.place.nats, b.place.http = line.Kafka, line.NATS, line.HTTP
		return b, nil
	case <-b.ended:
		return nil, fmt.Errorf("demo: the broker did not start: %v\n%s", b.err, b.log)
	case <-ctx.Done():
		b.kill()
		return nil, fmt.Errorf("demo: the broker was not ready: %w\n%s", ctx.Err(), b.log)
	}
}

// again starts a broker on the data and the addresses of this one, which has ended.
func (b *demoBroker) again(ctx context.Context) (*demoBroker, error) {
	return startDemoBroker(ctx, b.place)
}

func (b *demoBroker) pid() int { return b.cmd.Process.Pid }

// kill ends the process as a crash does.
func (b *demoBroker) kill() {
	b.cmd.Process.Kill()
	<-b.ended
}

// stop ends the process cleanly, if it has not ended.
func (b *demoBroker) stop() error {
	select {
	case <-b.ended:
		return nil
	default:
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("demo: stop the broker: %w", err)
	}
	<-b.ended
	if b.err != nil {
		return fmt.Errorf("demo: stop the broker: %w\n%s", b.err, b.log)
	}
	return nil
}

// readyLine is the broker's log line that says where it listens.
type readyLine struct {
	Message string `json:"message"`
	Kafka   string `json:"kafka"`
	NATS    string `json:"nats"`
	HTTP    string `json:"http"`
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (t *tail) read(s *bufio.Scanner, ready chan<- readyLine) {
	const keep = 20
	for s.Scan() {
		t.mu.Lock()
		t.lines = append(t.lines, s.Text())
		t.lines = t.lines[max(0, len(t.lines)-keep):]
		t.mu.Unlock()
		var line readyLine
		if json.Unmarshal(s.Bytes(), &line) == nil && line.Message == "ready" {
			select {
			case ready <- line:
			default:
			}
		}
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
