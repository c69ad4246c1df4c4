package kafka

import (
	"context"
	"net"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"brokerd/consumer"
	"brokerd/producer"
	"brokerd/topic"
)

// Server answers Kafka clients. It has no goroutine of its own; ServeConn does the work.
type Server struct {
	o        Options
	topics   *topic.Registry
	groups   *consumer.Groups
	ids      *producer.IDs
	log      zerolog.Logger
	apis     [maxKey + 1]*api // by key; nil: not served
	sessions *sessions
	buffers  sync.Pool           // of *bufio.Writer, for answers that carry records
	large    *semaphore.Weighted // memory for large frames, of largeLimit bytes
	stats    Stats
}

// New makes a server.
func New(o Options) *Server {
	o.Limits.setDefaults()
	o.Limits.MaxFrame = int32(min(int64(o.Limits.MaxFrame), o.Budget.Limit()))
	s := &Server{o: o, topics: o.Topics, groups: o.Groups, ids: o.IDs, log: o.Logger, sessions: newSessions()}
	s.large = semaphore.NewWeighted(s.largeLimit())
	for _, a := range table() {
		s.apis[a.key] = a
	}
	return s
}

// largeLimit is the part of the budget that large frames share.
func (s *Server) largeLimit() int64 { return s.o.Budget.Limit() / 2 }

// ServeConn serves one client until it goes away, breaks the protocol, or ctx is done: then it takes no further request,
// answers those it has taken (Limits.Drain) and closes. It always closes nc. The error is nil unless the connection
// ended because of something that an operator may want to know; it has been logged.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) error {
	s.stats.Connections.Add(1)
	s.stats.Accepted.Add(1)
	defer s.stats.Connections.Add(-1)
	return newConn(s, nc).serve(ctx)
}
