package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/synadia-io/orbit.go/ntf/backend"
)

// host is where every server listens.
const host = "127.0.0.1"

// processes is a backend whose servers are processes of brokerd.
type processes struct {
	binary string
	kill   bool
	o      backend.Options

	mu        sync.Mutex
	next      int // port to try next
	low, high int
	instances map[string][]*node
}

func newProcesses(binary string, kill bool, low, high int, o backend.Options) *processes {
	return &processes{binary: binary, kill: kill, o: o, next: low, low: low, high: high, instances: map[string][]*node{}}
}

func (p *processes) Capabilities() []backend.Capability {
	return []backend.Capability{backend.CapabilityKill}
}

func (p *processes) DefaultVersion() string { return "brokerd" }

func (p *processes) Placement(_ context.Context, id string) (backend.Placement, error) {
	return placement{p, filepath.Join(p.o.Dir, id)}, nil
}

func (p *processes) Provision(ctx context.Context, plan *backend.InstancePlan) ([]backend.Node, error) {
	if plan.Kind != "server" {
		return nil, fmt.Errorf("a %s was asked for; a broker is a single server", plan.Kind)
	}
	root := filepath.Join(p.o.Dir, plan.ID)
	if err := writeFiles(root, plan.Files); err != nil {
		return nil, err
	}
	var nodes []backend.Node
	for _, n := range plan.Nodes {
		started := newNode(p.binary, p.kill, root, n)
		err := started.prepare(n)
		if err == nil {
			err = started.Start(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, p.Teardown(ctx, plan.ID))
		}
		p.mu.Lock()
		p.instances[plan.ID] = append(p.instances[plan.ID], started)
		p.mu.Unlock()
		nodes = append(nodes, started)
	}
	return nodes, nil
}

func (p *processes) Teardown(_ context.Context, id string) error {
	p.mu.Lock()
	nodes := p.instances[id]
	delete(p.instances, id)
	p.mu.Unlock()
	for _, n := range nodes {
		n.end(true)
	}
	if p.o.Preserve {
		return nil
	}
	return os.RemoveAll(filepath.Join(p.o.Dir, id))
}

func (p *processes) Close() error { return nil }

// freePort finds a port that nothing listens on.
func (p *processes) freePort() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.high - p.low + 1 {
		port := p.next
		if p.next++; p.next > p.high {
			p.next = p.low
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

// placement is where one instance goes.
type placement struct {
	p    *processes
	root string
}

func (l placement) ListenerAddress(_, listener string) (backend.Listener, error) {
	port, err := l.p.freePort()
	return backend.Listener{Name: listener, Endpoint: backend.Endpoint{Host: host, Port: port}}, err
}

func (l placement) ProxyAddress(string, string) (backend.Endpoint, error) {
	return backend.Endpoint{}, backend.ErrUnsupported
}

func (l placement) InstanceDir() string { return l.root }

func (l placement) StoreDir(dir string) string { return filepath.Join(l.root, dir, "store") }

// writeFiles writes the files of a plan.
func writeFiles(root string, files []backend.File) error {
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			return err
		}
	}
	return nil
}
