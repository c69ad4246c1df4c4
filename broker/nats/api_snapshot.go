package nats

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// Bounds of what a snapshot sends at a time, and ahead of the answers, in bytes; and how long it waits for an answer
// (nats-server's numbers).
const (
	minChunk, chunkSize, maxChunk    = 1 << 10, 128 << 10, 1 << 20
	minWindow, windowSize, maxWindow = 1 << 10, 8 << 20, 32 << 20

	interestTimeout = 2 * time.Second
	chunkTimeout    = 5 * time.Second
)

type snapshotRequest struct {
	Deliver     string `json:"deliver_subject"`
	NoConsumers bool   `json:"no_consumers"`
	Chunk       int    `json:"chunk_size"`
	Window      int    `json:"window_size"`
	Check       bool   `json:"jsck"` // every read checks checksums, so that there is nothing more to do
}

// snapshot is the answer to a request for one, which is sent after it.
type snapshot struct {
	Config stream.Config `json:"config"`
	State  streamState   `json:"state"`

	api       *api
	stream    *stream.Stream
	from      *caller
	deliver   string
	chunk     int
	slots     chan struct{} // chunks that may be sent
	id        string
	consumers bool
}

func (a *api) snapshotStream(r *request) (any, error) {
	if r.empty() {
		return nil, stream.ErrBadRequest
	}
	s, err := a.flushed(r, 2)
	if err != nil {
		return nil, err
	}
	var q snapshotRequest
	if err := r.lenient(&q); err != nil {
		return nil, err
	}
	if !subject.Literal(q.Deliver) || strings.HasPrefix(q.Deliver, "$JS.") || strings.HasPrefix(q.Deliver, "$SYS.") {
		return nil, stream.ErrSnapshotDeliverSubject
	}
	state, err := a.state(s, (*stream.Stream).State)
	if err != nil {
		return nil, stream.SnapshotFailed(err)
	}
	chunk := clamp(q.Chunk, minChunk, chunkSize, maxChunk)
	window := max(clamp(q.Window, minWindow, windowSize, maxWindow), chunk)
	n := &snapshot{
		Config: a.told(s.Config()), State: state,
		api: a, stream: s, from: r.from, deliver: q.Deliver, consumers: !q.NoConsumers,
		chunk: chunk, slots: make(chan struct{}, window/chunk), id: nuid.Next(),
	}
	for range cap(n.slots) {
		n.slots <- struct{}{}
	}
	if !a.transfers.begin(n.id, n.answered) {
		return nil, stream.ErrUnavailable
	}
	return n, nil
}

// clamp brings a number that may be missing between its bounds.
func clamp(n, low, usual, high int) int {
	if n == 0 {
		n = usual
	}
	return min(max(n, low), high)
}

// answered takes the client's word that it has a chunk.
func (n *snapshot) answered(*request) {
	select {
	case n.slots <- struct{}{}:
	default: // it says so more often than chunks were sent
	}
}

// follow sends the snapshot.
func (n *snapshot) follow() { n.from.background(n.send) }

func (n *snapshot) send() {
	defer n.api.transfers.end(n.id)
	start := time.Now().UTC()
	client := n.from.peer.client()
	name := n.stream.Name()
	n.api.tell("STREAM.SNAPSHOT_CREATE", name, snapshotBegun{newEvent("snapshot_create"), name, n.State, client})

	reader, writer := io.Pipe()
	n.from.background(func() {
		writer.CloseWithError(writeSnapshot(writer, n.stream, n.State.Last, n.contents()))
	})
	err := n.sendChunks(reader)
	reader.CloseWithError(errSnapshotEnded)

	ended := snapshotEnded{event: newEvent("snapshot_complete"), Stream: name, Start: start, End: time.Now().UTC(), Client: client}
	status := "204"
	if err != nil {
		ended.Error, status = err.Error(), "500 "+err.Error()
		if e, ok := errors.AsType[noReceiver](err); ok {
			status = "408 " + string(e)
		}
		n.api.logger.Warn().Err(err).Str("stream", name).Msg("A snapshot was not sent to its end.")
	}
	n.api.door.Answer(n.deliver, "", []byte("NATS/1.0 "+strings.ReplaceAll(status, "\r\n", " ")+"\r\n\r\n"), nil)
	n.api.tell("STREAM.SNAPSHOT_COMPLETE", name, ended)
}

var errSnapshotEnded = errors.New("the snapshot has ended")

// noReceiver is why nobody takes the snapshot, in nats-server's words.
type noReceiver string

func (e noReceiver) Error() string { return strings.ToLower(string(e)) }

// contents is what a snapshot says about the stream in front of its messages.
func (n *snapshot) contents() contents {
	c := contents{Format: snapshotFormat, Config: n.Config, State: n.State}
	if n.consumers {
		for _, consumer := range n.api.consumers.List(n.stream.Name()) {
			if i := consumer.Info(); i.Config.Durable != "" { // others end with their clients
				c.Consumers = append(c.Consumers, i)
			}
		}
	}
	return c
}

// sendChunks sends what r has, no more ahead of the client's answers than the window allows.
func (n *snapshot) sendChunks(r io.Reader) error {
	changed := make(chan struct{}, 1)
	defer n.api.door.Watch(n.deliver, changed)()
	if err := n.awaitListener(changed); err != nil {
		return err
	}
	buf := make([]byte, n.chunk)
	for number := 1; ; number++ {
		if err := n.awaitSlot(changed); err != nil {
			return err
		}
		size, err := io.ReadFull(r, buf)
		if size > 0 {
			ack := fmt.Sprintf("%sACK.%s.%s.%d.%d", transferPrefix, n.stream.Name(), n.id, size, number)
			n.api.door.Answer(n.deliver, ack, nil, buf[:size])
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// awaitListener gives the client time to subscribe. Clients do so after they have the answer, to an inbox for whose like
// they have a subscription with a wildcard already.
func (n *snapshot) awaitListener(changed <-chan struct{}) error {
	timer := time.NewTimer(interestTimeout)
	defer timer.Stop()
	for !n.api.door.Subscribed(n.deliver) {
		select {
		case <-changed:
		case <-timer.C:
			return noReceiver("No Interest")
		case <-n.from.ctx.Done():
			return noReceiver("No Interest")
		}
	}
	return nil
}

func (n *snapshot) awaitSlot(changed <-chan struct{}) error {
	timer := time.NewTimer(chunkTimeout)
	defer timer.Stop()
	for {
		select {
		case <-n.slots:
			return nil
		case <-changed:
			if !n.api.door.Subscribed(n.deliver) {
				return noReceiver("No Interest")
			}
		case <-timer.C:
			return noReceiver("No Flow Response")
		case <-n.from.ctx.Done():
			return noReceiver("No Interest")
		}
	}
}
