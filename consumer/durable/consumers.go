package durable

import (
	"context"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/topic/stream"
)

// Options is what Consumers are opened with.
type Options struct {
	DB      *bbolt.DB
	Streams *stream.Streams
	Outlet  Outlet
	Logger  zerolog.Logger
}

// Consumers is the consumers of all streams.
type Consumers struct{}

// Open loads the consumers. What is damaged is reported through the logger and left out.
func Open(o Options) (*Consumers, error) { panic("durable: Open") }

// Run delivers, keeps deadlines and saves, until ctx is done; then it tells waiting pull requests of the shutdown, and
// saves what is left.
func (cs *Consumers) Run(ctx context.Context) error { panic("durable: Run") }

// Action says what Create may do.
type Action string

const (
	CreateOrUpdate Action = ""
	CreateOnly     Action = "create"
	UpdateOnly     Action = "update"
)

// Create makes a consumer, or updates one, after it has checked and completed the configuration. When it returns, a durable
// one survives a crash. Errors: *stream.Error.
func (cs *Consumers) Create(streamName string, c Config, a Action) (*Consumer, error) {
	panic("durable: Create")
}

// Get finds a consumer.
func (cs *Consumers) Get(streamName, name string) (*Consumer, bool) { panic("durable: Get") }

// List returns a stream's consumers ordered by name.
func (cs *Consumers) List(streamName string) []*Consumer { panic("durable: List") }

// Delete removes a consumer; its waiting pull requests are told. Errors: *stream.Error 10014, 10059.
func (cs *Consumers) Delete(streamName, name string) error { panic("durable: Delete") }

// Ack takes an acknowledgement: subject is $JS.ACK. and what follows. done, if not nil, is called when it is applied and, for
// a durable consumer, saved; with an error when there is no such consumer. reply is where +NXT gets its messages. It does
// not wait.
func (cs *Consumers) Ack(subject, reply string, body []byte, done func(error)) { panic("durable: Ack") }

// FlowControl takes an answer to a flow control request: subject is $JS.FC. and what follows. It does not wait.
func (cs *Consumers) FlowControl(subject string) { panic("durable: FlowControl") }

// Consumer is one consumer. It stays valid, but refuses everything, after it was deleted.
type Consumer struct{}

// Info tells about the consumer.
func (c *Consumer) Info() Info { panic("durable: Info") }

// Pull takes a pull request, as its body stands in JetStream's API (ADR-13): empty, a number, or JSON. Messages and
// statuses go to inbox; so does whatever is wrong with the request. It does not wait.
func (c *Consumer) Pull(inbox string, body []byte) { panic("durable: Pull") }

// Pause stops deliveries until then; a time that is past resumes them. Durable when it returns. Errors: *stream.Error.
func (c *Consumer) Pause(until time.Time) error { panic("durable: Pause") }

// Reset moves the consumer to deliver from sequence on, 0 for its ack floor; what is pending is forgotten. Durable when it
// returns. It returns the sequence. Errors: *stream.Error.
func (c *Consumer) Reset(sequence uint64) (uint64, error) { panic("durable: Reset") }

// Unpin makes another client of a priority group the pinned one. Errors: *stream.Error.
func (c *Consumer) Unpin(group string) error { panic("durable: Unpin") }
