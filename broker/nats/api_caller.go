package nats

import (
	"context"
	"sync"
	"time"
)

// What of one connection's requests may wait; more are told to come again.
const (
	queueLimit = 1024
	queueBytes = 8 << 20 // of subjects, headers and bodies
)

// caller is the side of a connection that makes requests to the broker itself.
type caller struct {
	ctx  context.Context // done when the connection is
	peer peer

	running sync.WaitGroup

	mu     sync.Mutex
	queue  []task // guarded by mu: what is to be done, in order
	bytes  int    // guarded by mu: of the requests in the queue
	active bool   // guarded by mu: somebody works through the queue
}

// task is a request that waits, and what answers it.
type task struct {
	request *request
	do      func()
}

// newCaller makes the caller of a connection; ctx is done when the connection is, and then wait is called.
func newCaller(ctx context.Context, p peer) *caller {
	return &caller{ctx: ctx, peer: p}
}

// enqueue lets do be called, which answers r, after everything that was enqueued before; false when too much waits. It does
// not wait.
func (c *caller) enqueue(r *request, do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) >= queueLimit || len(c.queue) > 0 && c.bytes+r.size() > queueBytes {
		return false
	}
	c.queue = append(c.queue, task{r, do})
	c.bytes += r.size()
	if !c.active {
		c.active = true
		c.running.Go(c.work)
	}
	return true
}

// work does what is enqueued until there is no more, or the connection is gone.
func (c *caller) work() {
	for {
		do, ok := c.next()
		if !ok {
			return
		}
		do()
	}
}

func (c *caller) next() (do func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || c.ctx.Err() != nil {
		c.active, c.queue, c.bytes = false, nil, 0
		return nil, false
	}
	first := c.queue[0]
	c.queue[0] = task{}
	c.queue = c.queue[1:]
	c.bytes -= first.request.size()
	return first.do, true
}

// background runs f beside the queue.
func (c *caller) background(f func()) { c.running.Go(f) }

// wait returns when everything that the connection started has ended.
func (c *caller) wait() { c.running.Wait() }

// peer is who is at the other end of a connection.
type peer interface {
	client() clientInfo
	user() userInfo
	barred() bool // from JetStream
}

// clientInfo is what advisories tell about a client.
type clientInfo struct {
	Start   *time.Time    `json:"start,omitempty"`
	Host    string        `json:"host,omitempty"`
	ID      uint64        `json:"id,omitempty"`
	Account string        `json:"acc"`
	User    string        `json:"user,omitempty"`
	Name    string        `json:"name,omitempty"`
	Lang    string        `json:"lang,omitempty"`
	Version string        `json:"ver,omitempty"`
	RTT     time.Duration `json:"rtt,omitempty"`
	Server  string        `json:"server,omitempty"`
	Kind    string        `json:"kind,omitempty"`
	Type    string        `json:"client_type,omitempty"`
}

// account is the name of the only account; nats-server has one of that name, when none are configured.
const account = "$G"

// userInfo is what a user may know about its own login.
type userInfo struct {
	User        string       `json:"user"`
	Account     string       `json:"account"`
	Permissions *permissions `json:"permissions,omitempty"` // nil when everything is allowed
}

type permissions struct {
	Publish   *subjects `json:"publish"`
	Subscribe *subjects `json:"subscribe"`
}

type subjects struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// infoOf is what u may know; the zero User is somebody who did not have to log in.
func infoOf(u User) userInfo {
	i := userInfo{User: u.Name, Account: account}
	if u.Name == "" {
		i.User = u.NKey
	}
	publish, subscribe := subjectsOf(u.Publish), subjectsOf(u.Subscribe)
	if publish != nil || subscribe != nil {
		i.Permissions = &permissions{publish, subscribe}
	}
	return i
}

func subjectsOf(p Permission) *subjects {
	if len(p.Allow)+len(p.Deny) == 0 {
		return nil
	}
	return &subjects{p.Allow, p.Deny}
}
