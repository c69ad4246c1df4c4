package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/synadia-io/orbit.go/ntf/backend"
)

// startLimit is how long a broker may take until it is ready.
const startLimit = 20 * time.Second

// node is one brokerd.
type node struct {
	binary, root, dir, name string
	addresses               []backend.Address
	kill                    bool

	mu     sync.Mutex
	server string    // its own name
	cmd    *exec.Cmd // nil when it is stopped
	ended  chan struct{}
	torn   bool
}

func newNode(binary string, kill bool, root string, plan *backend.NodePlan) *node {
	n := &node{binary: binary, kill: kill, root: root, dir: filepath.Join(root, plan.Dir), name: plan.Name}
	for _, l := range plan.Listeners {
		n.addresses = append(n.addresses, backend.Address{Name: l.Name, Internal: l.Endpoint, External: l.Endpoint})
	}
	return n
}

// prepare writes what the plan says, and the broker's own settings that follow from it.
func (n *node) prepare(plan *backend.NodePlan) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	if err := writeFiles(n.root, plan.Files); err != nil {
		return err
	}
	rendered := filepath.Join(n.dir, "nats-server.conf")
	if err := os.WriteFile(rendered, plan.Config, 0o600); err != nil {
		return err
	}
	settings, err := translate(rendered, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", plan.Name, err)
	}
	settings.Data = filepath.Join(n.dir, "data")
	n.mu.Lock()
	n.server = settings.NATS.ServerName
	n.mu.Unlock()
	body, err := json.MarshalIndent(settings, "", "  ") // which is YAML, too
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.dir, "brokerd.yaml"), body, 0o600)
}

func (n *node) Name() string { return n.name }

func (n *node) Addresses() []backend.Address { return n.addresses }

func (n *node) Status(context.Context) (backend.NodeStatus, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return backend.NodeStatus{ServerName: n.server, Running: n.cmd != nil, Version: "brokerd"}, n.usable()
}

func (n *node) usable() error {
	if n.torn {
		return errors.New("the server was removed")
	}
	return nil
}

// Start runs the broker until it says that it is ready.
func (n *node) Start(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(); err != nil || n.cmd != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(n.dir, "brokerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(n.binary, "serve", "--config", filepath.Join(n.dir, "brokerd.yaml"))
	cmd.Dir = n.dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer log.Close()
		watch(stderr, log, ready)
		_ = cmd.Wait()
	}()
	n.cmd, n.ended = cmd, ended
	select {
	case <-ready:
		return nil
	case <-ended:
		n.cmd = nil
		return fmt.Errorf("%s ended at once: see %s", n.name, log.Name())
	case <-time.After(startLimit):
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	<-ended
	n.cmd = nil
	return fmt.Errorf("%s did not get ready", n.name)
}

// watch copies the broker's log, and closes ready when it says so.
func watch(from io.Reader, to io.Writer, ready chan<- struct{}) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fmt.Fprintln(to, lines.Text())
		if ready != nil && strings.Contains(lines.Text(), `"message":"ready"`) {
			close(ready)
			ready = nil
		}
	}
	_, _ = io.Copy(to, from)
}

func (n *node) Stop(context.Context) error {
	n.mu.Lock()
	err := n.usable()
	n.mu.Unlock()
	if err == nil {
		n.end(n.kill)
	}
	return err
}

func (n *node) Kill(context.Context) error {
	n.end(true)
	return nil
}

// end ends the process and waits for it.
func (n *node) end(kill bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = n.cmd.Process.Signal(signal)
	select {
	case <-n.ended:
	case <-time.After(startLimit):
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
	n.cmd = nil
}

// Reload is refused: a broker reads its settings when it starts.
func (n *node) Reload(context.Context) error { return backend.ErrUnsupported }

func (n *node) Apply(_ context.Context, plan *backend.NodePlan) error { return n.prepare(plan) }

func (n *node) Pause(context.Context) error { return backend.ErrUnsupported }

func (n *node) Resume(context.Context) error { return backend.ErrUnsupported }
