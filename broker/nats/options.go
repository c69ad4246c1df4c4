package nats

import (
	"context"
	"net"
	"time"

	"github.com/rs/zerolog"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// Options is what a Server is made with.
type Options struct {
	// Streams and Consumers make the door's JetStream. They need the door as their outlet, so that they are opened with
	// Server.Outlet and given to Server.Attach.
	Logger     zerolog.Logger
	ServerName string
	ServerID   string
	Version    string // of the product
	Auth       Auth
	Limits     Limits
}

// Auth is who may connect. The zero Auth lets everybody in.
type Auth struct {
	Token   string // or its bcrypt hash
	Users   []User
	NoAuth  string        // name of the user that clients without credentials are; "" for none
	Timeout time.Duration // for CONNECT to come
}

// User is one login: a name with a password (or its bcrypt hash), or an nkey.
type User struct {
	Name, Password string
	NKey           string // public key
	Publish        Permission
	Subscribe      Permission
}

// Permission is a set of subjects: those that Allow has (all when it is empty) without those that Deny has.
type Permission struct {
	Allow, Deny []string
}

// Limits bound what clients may take.
type Limits struct {
	MaxPayload       int32 // bytes of a message with its header
	MaxControlLine   int32
	MaxPending       int64 // bytes that wait for a slow client; more closes it
	MaxSubscriptions int   // per connection; 0 for no limit
	MaxConnections   int   // 0 for no limit
	InFlight         int64 // bytes of a connection's messages on their way into streams; then it is not read
	PingInterval     time.Duration
	MaxPingsOut      int
	WriteDeadline    time.Duration
	Drain            time.Duration
}

// Server serves NATS clients. It is made with New.
type Server struct{}

// New makes a server.
func New(o Options) *Server { panic("nats: New") }

// Outlet is where consumers send.
func (s *Server) Outlet() durable.Outlet { panic("nats: Outlet") }

// Publish publishes for the broker, to whoever listens, and into the stream that has the subject.
func (s *Server) Publish(subject, reply string, header, data []byte) { panic("nats: Publish") }

// Attach adds JetStream, before the first connection is served.
func (s *Server) Attach(streams *stream.Streams, consumers *durable.Consumers) {
	panic("nats: Attach")
}

// ServeConn serves one client until it goes away, breaks the protocol, or ctx is done. It closes c.
func (s *Server) ServeConn(ctx context.Context, c net.Conn) error { panic("nats: ServeConn") }
