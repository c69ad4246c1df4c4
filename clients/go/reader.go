package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ReaderConfig says what a reader reads.
type ReaderConfig struct {
	Stream   string
	Subjects []string // filters; none for all messages
	From     Position // the first message; the zero Position is the stream's beginning
	To       Position // the first message that is left out; the zero Position, and End, leave out none
	Follow   bool     // wait for what is not stored yet; otherwise the stream's end, as it is when the reader is made, bounds it
}

// Reader replays a range of a stream, in order, without a group: it changes nothing, and any number may read. It is for one
// goroutine.
type Reader struct {
	to       Position
	end      uint64 // the last sequence to read; 0 for no end
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	done     bool
}

// NewReader makes a reader, which must be closed.
func NewReader(ctx context.Context, nc *nats.Conn, config ReaderConfig) (*Reader, error) {
	r, err := newReader(ctx, nc, config)
	if err != nil {
		return nil, fmt.Errorf("client: read %s: %w", config.Stream, err)
	}
	return r, nil
}

func newReader(ctx context.Context, nc *nats.Conn, config ReaderConfig) (*Reader, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, config.Stream)
	if err != nil {
		return nil, err
	}
	r := &Reader{to: config.To}
	policy, sequence, at := config.From.policy()
	r.consumer, err = stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: config.Subjects, DeliverPolicy: policy, OptStartSeq: sequence, OptStartTime: at,
	})
	if err != nil {
		return nil, err
	}
	if !config.Follow {
		r.end = stream.CachedInfo().State.LastSeq
		r.done = r.end == 0 || r.consumer.CachedInfo().NumPending == 0
	}
	r.messages, err = r.consumer.Messages()
	return r, err
}

// Next reads the next record; io.EOF at the bound. A lost connection is waited for. Errors: ctx's, ErrClosed.
func (r *Reader) Next(ctx context.Context) (*Record, error) {
	for {
		if r.done {
			return nil, io.EOF
		}
		raw, err := r.wait(ctx)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		record, about, err := recordOf(raw)
		if err != nil {
			return nil, err
		}
		if !r.to.before(&record) || r.end > 0 && record.Sequence > r.end {
			r.done = true
			return nil, io.EOF
		}
		r.done = r.end > 0 && (record.Sequence == r.end || about.NumPending == 0)
		return &record, nil
	}
}

// wait waits for a message. A reader with an end looks now and then whether there is nothing left: the last messages
// may have been deleted meanwhile.
func (r *Reader) wait(ctx context.Context) (jetstream.Msg, error) {
	patience := ctx
	if r.end > 0 {
		var cancel context.CancelFunc
		patience, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	raw, err := r.messages.Next(jetstream.NextContext(patience))
	switch {
	case err == nil:
		return raw, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		info, err := r.consumer.Info(ctx)
		r.done = err == nil && info.NumPending == 0
		return nil, nil
	case errors.Is(err, jetstream.ErrMsgIteratorClosed):
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("client: read: %w", err)
}

// Close lets go of what the reader holds at the broker.
func (r *Reader) Close() { r.messages.Stop() }
