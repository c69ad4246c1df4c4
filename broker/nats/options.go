package nats

import (
	"time"

	"github.com/rs/zerolog"
)

// Options is what a Server is made with.
type Options struct {
	Logger     zerolog.Logger
	ServerName string
	ServerID   string
	Domain     string // of JetStream, as clients may name it; "" for none
	Auth       Auth
	TLS        TLS
	Limits     Limits
}

// Auth is who may connect. Without token and users, everybody may.
type Auth struct {
	Token   string // or its bcrypt hash
	Users   []User
	NoAuth  string        // name of the user that clients without credentials are; "" for none
	Timeout time.Duration // for CONNECT to come; 2 s
}

// User is one login: a name with a password (or its bcrypt hash), or an nkey.
type User struct {
	Name, Password string
	NKey           string // public key
	Publish        Permission
	Subscribe      Permission
	Respond        bool // it may publish one answer to each request that it gets, whatever Publish says
	NoJetStream    bool // requests to JetStream's API are refused
}

// Permission is a set of subjects: those that Allow has (all when it is empty) without those that Deny has. For
// subscriptions, "SUBJECT QUEUE" stands for subscriptions as members of the queue groups that QUEUE matches.
type Permission struct {
	Allow, Deny []string
}

// Limits bound what clients may take. Zero takes the default named beside the field, which is nats-server's where it has
// one.
type Limits struct {
	MaxPayload       int32         // bytes of a message with its header; 1 MiB
	MaxControlLine   int32         // bytes of the arguments of a command; 4096
	MaxPending       int64         // bytes that wait for a slow client; more closes it; 64 MiB
	MaxSubscriptions int           // per connection; 0 for no limit
	MaxConnections   int           // 0 for no limit
	InFlight         int64         // bytes of a connection's messages on their way into streams; then it is not read; 8 MiB
	Memory           int64         // bytes that wait for all clients; beyond it, slow ones are closed sooner; 256 MiB
	PingInterval     time.Duration // 2 min
	MaxPingsOut      int           // 2
	WriteDeadline    time.Duration // for a client to take what is sent; 10 s
	Drain            time.Duration // for what is under way, after ctx is done; 10 s
}

func (a Auth) withDefaults() Auth {
	a.Timeout = or(a.Timeout, 2*time.Second)
	return a
}

func (l Limits) withDefaults() Limits {
	l.MaxPayload = or(l.MaxPayload, 1<<20)
	l.MaxControlLine = or(l.MaxControlLine, 4096)
	l.MaxPending = or(l.MaxPending, 64<<20)
	l.InFlight = or(l.InFlight, 8<<20)
	l.Memory = or(l.Memory, 256<<20)
	l.PingInterval = or(l.PingInterval, 2*time.Minute)
	l.MaxPingsOut = or(l.MaxPingsOut, 2)
	l.WriteDeadline = or(l.WriteDeadline, 10*time.Second)
	l.Drain = or(l.Drain, 10*time.Second)
	return l
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
