package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"brokerd/topic/stream"
)

type restoreRequest struct {
	Config json.RawMessage `json:"config"`
}

// restore is the answer to a request for one: where the chunks of the snapshot go.
type restore struct {
	Deliver string `json:"deliver_subject"`

	api    *api
	config stream.Config
	from   *caller
	id     string
	start  time.Time
	input  *io.PipeWriter
	output *io.PipeReader
	active chan struct{} // has room for one: a chunk came
	end    chan string   // has room for one: where the answer to the last chunk goes
	bytes  atomic.Int64
}

var errClientGone = errors.New("the client is gone")

func (a *api) restoreStream(r *request) (any, error) {
	if r.empty() {
		return nil, stream.ErrBadRequest
	}
	var q restoreRequest
	if err := r.lenient(&q); err != nil {
		return nil, err
	}
	var c stream.Config
	if err := (&request{body: q.Config}).strict(&c); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = r.token(2)
	}
	if err := checkStreamName(r.token(2), c.Name); err != nil {
		return nil, err
	}
	if _, exists := a.streams.Get(c.Name); exists {
		return nil, stream.ErrExistsRestore
	}
	if c.Mirror != nil {
		return nil, stream.RestoreFailed(errors.New("a mirror is not restored: make it again, and it copies its origin"))
	}
	id := nuid.Next()
	n := &restore{
		Deliver: fmt.Sprintf("%sRESTORE.%s.%s", transferPrefix, c.Name, id),
		api:     a, config: c, from: r.from, id: id, start: time.Now().UTC(),
		active: make(chan struct{}, 1), end: make(chan string, 1),
	}
	n.output, n.input = io.Pipe()
	if !a.transfers.begin(id, n.take) {
		return nil, stream.ErrUnavailable
	}
	a.tell("STREAM.RESTORE_CREATE", c.Name, restoreBegun{newEvent("restore_create"), c.Name, r.from.peer.client()})
	r.from.background(n.run)
	return n, nil
}

// take takes one chunk; whoever sent it hears when there is room for the next.
func (n *restore) take(r *request) {
	if !r.from.enqueue(r, func() { n.chunk(r) }) {
		_ = n.input.CloseWithError(stream.ErrUnavailable) // never fails
	}
}

func (n *restore) chunk(r *request) {
	if len(r.body) == 0 { // that was all
		select {
		case n.end <- r.reply:
		default:
		}
		_ = n.input.Close() // never fails
		return
	}
	n.touch()
	_, err := n.input.Write(r.body)
	n.touch()
	if err != nil {
		n.answer(r.reply, nil, err)
		return
	}
	n.bytes.Add(int64(len(r.body)))
	n.api.door.Answer(r.reply, "", nil, nil)
}

func (n *restore) touch() {
	select {
	case n.active <- struct{}{}:
	default:
	}
}

// run watches over the restore until the client knows how it ended, or does not care any more.
func (n *restore) run() {
	defer n.api.transfers.end(n.id)
	made := make(chan error, 1)
	n.from.background(func() { made <- n.read() })
	timer := time.NewTimer(chunkTimeout)
	defer timer.Stop()
	var err error
	reply, told, finished := "", false, false
	for !told || !finished {
		select {
		case <-n.active:
			timer.Reset(chunkTimeout)
		case reply = <-n.end:
			told = true
			timer.Stop()
		case err = <-made:
			finished = true
		case <-timer.C:
			told = true
			_ = n.input.CloseWithError(fmt.Errorf("restore for stream %s is stalled", n.config.Name)) // never fails
		case <-n.from.ctx.Done():
			told = true
			_ = n.input.CloseWithError(errClientGone) // never fails
			if !finished {
				err, finished = <-made, true
			}
		}
	}
	n.finish(reply, err)
}

func (n *restore) finish(reply string, err error) {
	name := n.config.Name
	n.api.tell("STREAM.RESTORE_COMPLETE", name, restoreEnded{
		event: newEvent("restore_complete"), Stream: name, Start: n.start, End: time.Now().UTC(),
		Bytes: n.bytes.Load(), Client: n.from.peer.client(),
	})
	if err != nil {
		n.api.logger.Warn().Err(err).Str("stream", name).Msg("A stream was not restored; nothing of it was kept.")
		n.answer(reply, nil, err)
		return
	}
	var info streamInfo
	s, ok := n.api.streams.Get(name)
	if !ok {
		err = stream.ErrStreamNotFound
	} else {
		info, err = n.api.describe(s)
	}
	n.answer(reply, info, err)
}

// answer tells how the restore went.
func (n *restore) answer(reply string, payload any, err error) {
	if err != nil {
		if _, known := errors.AsType[*stream.Error](err); !known {
			err = stream.RestoreFailed(err)
		}
	}
	e := endpoint{answers: "stream_create_response"}
	body, err := e.encode(payload, err)
	if err == nil && reply != "" {
		n.api.door.Answer(reply, "", nil, body)
	}
}

// read makes the stream of what is sent. When that fails, nothing is left of it.
func (n *restore) read() error {
	err := n.build()
	if err == nil {
		_, err = io.Copy(io.Discard, n.output) // until the client says that this was all
	}
	_ = n.output.CloseWithError(err) // never fails
	return err
}

func (n *restore) build() error {
	snapshot, about, err := readSnapshot(n.output)
	if err != nil {
		return err
	}
	s, err := n.api.streams.Create(n.closed(), false)
	if err != nil {
		return err
	}
	if err = n.fill(s, snapshot, about); err != nil {
		err = errors.Join(err, n.api.streams.Delete(s.Name()))
	}
	return err
}

// closed is a configuration under which nobody publishes into the stream, until it is filled.
func (n *restore) closed() stream.Config {
	c := n.config
	c.Sealed = false
	c.Sources, c.Transform, c.Republish = nil, nil, nil
	c.Subjects = []string{"_RESTORE." + n.id}
	return c
}

func (n *restore) fill(s *stream.Stream, r *snapshotReader, about contents) error {
	for {
		messages, err := r.messages()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := s.Restore(n.from.ctx, messages, 0); err != nil {
			return err
		}
	}
	if err := s.Restore(n.from.ctx, nil, about.State.Last); err != nil {
		return err
	}
	if _, err := n.api.streams.Update(n.config, false); err != nil {
		return err
	}
	for _, c := range about.Consumers {
		if err := n.api.consumers.Restore(s.Name(), c); err != nil {
			return fmt.Errorf("consumer %s: %w", c.Name, err)
		}
	}
	return nil
}
