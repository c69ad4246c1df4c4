package main

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outage is a hook of the client that tells a person when a broker that was there cannot be reached any more, and when
// it is back. The client tries again by itself.
type outage struct {
	w io.Writer

	mu   sync.Mutex // guards what follows
	seen bool
	down bool
}

var _ kgo.HookBrokerConnect = (*outage)(nil)

// OnBrokerConnect is called by the client after every attempt to connect.
func (o *outage) OnBrokerConnect(b kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := net.JoinHostPort(b.Host, fmt.Sprint(b.Port))
	switch {
	case err == nil && o.down:
		o.down = false
		fmt.Fprintf(o.w, "brokerd: %s is back\n", at)
	case err == nil:
		o.seen = true
	case o.seen && !o.down:
		o.down = true
		fmt.Fprintf(o.w, "brokerd: cannot reach %s any more; trying again: %v\n", at, err)
	}
}
