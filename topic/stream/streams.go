package stream

import (
	"context"

	"github.com/rs/zerolog"

	"brokerd/topic"
)

// Options is what Streams are opened with.
type Options struct {
	Topics *topic.Registry
	Logger zerolog.Logger
	// Republish, if set, gives a message to core subscribers (Config.Republish). It does not wait.
	Republish func(subject string, header, data []byte)
	// Advise, if set, is called for the API's advisories; kind and token are the end of their subject, such as
	// "STREAM.CREATED" and the stream's name. It does not wait.
	Advise func(kind, token string, advisory any)
}

// Streams is the set of all streams: those made through JetStream, and the topics made through Kafka.
type Streams struct{}

// Open loads the configurations of all streams; their indexes are made when they are first needed.
func Open(o Options) (*Streams, error) { panic("stream: Open") }

// Run writes what is published, expires messages, and copies mirrors and sources, until ctx is done. Nothing that is
// published is acknowledged while it does not run.
func (s *Streams) Run(ctx context.Context) error { panic("stream: Run") }

// Create makes a stream. One that exists with the same configuration is returned as it is. Errors: *Error.
func (s *Streams) Create(c Config, pedantic bool) (*Stream, error) { panic("stream: Create") }

// Update changes a stream's configuration; it takes effect at once. Errors: *Error.
func (s *Streams) Update(c Config, pedantic bool) (*Stream, error) { panic("stream: Update") }

// Delete removes a stream with its topic. Errors: *Error.
func (s *Streams) Delete(name string) error { panic("stream: Delete") }

// Get finds a stream by name; a topic that was made through Kafka is found by its name with "_" for each ".", and
// "-N" for partition N if it has several.
func (s *Streams) Get(name string) (*Stream, bool) { panic("stream: Get") }

// List returns the streams that have a subject which overlaps with filter, ordered by name; all for an empty filter.
func (s *Streams) List(filter string) []*Stream { panic("stream: List") }

// ForSubject finds the stream that a message with this literal subject goes to. It is called for every core publish and
// takes no lock.
func (s *Streams) ForSubject(subject string) (*Stream, bool) { panic("stream: ForSubject") }

// OnDelete calls f after a stream was deleted, through either protocol, before Delete returns.
func (s *Streams) OnDelete(f func(*Stream)) { panic("stream: OnDelete") }
