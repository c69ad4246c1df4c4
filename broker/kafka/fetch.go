package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/topic"
)

// Fetch (1), versions 4 to 17. Partitions are read in the order of the request: the first one with records gives at
// least one whole batch, whatever the limits; the others keep to them. A batch is always sent whole, also when the offset
// lies inside it. Sessions (KIP-227) are answered with id 0, which makes clients send full requests. Followers do not
// exist. Damaged records fail their partition alone.

// maxFetchBytes bounds an answer, apart from a first batch that is larger.
const maxFetchBytes = 55 << 20

// fetch is one Fetch request at work.
type fetch struct {
	version   int16
	isolation topic.Isolation
	maxWait   time.Duration
	minBytes  int64
	maxBytes  int64
	topics    []fetchTopic

	size   int64 // bytes of records found by the last pass
	failed bool  // the last pass met an error
}

type fetchTopic struct {
	name  string
	id    topic.ID
	parts []fetchPart
}

// fetchPart is one partition of a request and what the last pass found for it.
type fetchPart struct {
	index    int32
	p        *topic.Partition // nil: missing says why
	missing  error
	epoch    int32 // that the client believes in, -1 for none
	offset   int64
	maxBytes int64

	err    error
	bounds log.Bounds
	found  log.Range // to be closed
}

func (s *Server) fetch(r *request) answer {
	f := s.planFetch(r.body.(*kmsg.FetchRequest))
	return func(ctx context.Context) (reply, error) {
		f.run(ctx, r.accepting.Done())
		return f, nil
	}
}

func (s *Server) planFetch(req *kmsg.FetchRequest) *fetch {
	f := &fetch{
		version:  req.Version,
		maxWait:  time.Duration(req.MaxWaitMillis) * time.Millisecond,
		maxBytes: min(int64(req.MaxBytes), maxFetchBytes),
		topics:   make([]fetchTopic, len(req.Topics)),
	}
	f.minBytes = min(int64(req.MinBytes), f.maxBytes)
	if req.IsolationLevel == 1 {
		f.isolation = topic.ReadCommitted
	}
	find := finder{s.topics, req.Version >= 13}
	for i := range req.Topics {
		t, ft := &req.Topics[i], &f.topics[i]
		ft.name, ft.id = t.Topic, t.TopicID
		ft.parts = make([]fetchPart, len(t.Partitions))
		for j := range t.Partitions {
			q, part := &t.Partitions[j], &ft.parts[j]
			part.index, part.epoch = q.Partition, q.CurrentLeaderEpoch
			part.offset, part.maxBytes = q.FetchOffset, int64(q.PartitionMaxBytes)
			part.p, part.missing = find.partition(t.Topic, t.TopicID, q.Partition)
		}
	}
	return f
}

// run reads, and waits for more until there is enough, something failed, or the client's time is over.
func (f *fetch) run(ctx context.Context, draining <-chan struct{}) {
	if f.pass(); f.maxWait <= 0 || f.enough() {
		return
	}
	timer := time.NewTimer(f.maxWait)
	defer timer.Stop()
	moved := make(chan struct{}, 1)
	for part := range f.all {
		defer part.p.Watch(moved)()
	}
	for {
		f.release()
		if f.pass(); f.enough() { // also what came before Watch
			return
		}
		select {
		case <-moved:
		case <-timer.C:
			return
		case <-draining:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (f *fetch) enough() bool { return f.failed || f.size >= f.minBytes || len(f.topics) == 0 }

// all yields the partitions in the order of the request.
func (f *fetch) all(yield func(*fetchPart) bool) {
	for i := range f.topics {
		for j := range f.topics[i].parts {
			if !yield(&f.topics[i].parts[j]) {
				return
			}
		}
	}
}

// pass looks once at every partition.
func (f *fetch) pass() {
	f.size, f.failed = 0, false
	for part := range f.all {
		part.err = part.read(f.isolation, f.maxBytes-f.size, f.size == 0)
		f.size += part.found.Length
		f.failed = f.failed || part.err != nil
	}
}

// read finds what may be sent: at most left bytes, unless it is the first partition to give any.
func (part *fetchPart) read(isolation topic.Isolation, left int64, first bool) (err error) {
	if part.missing != nil {
		return part.missing
	}
	if err := checkEpoch(part.p, part.epoch); err != nil {
		return err
	}
	if part.bounds, err = part.p.Bounds(); err != nil {
		return err
	}
	if part.offset < part.bounds.Start || part.offset > part.bounds.End {
		return &log.RangeError{Offset: part.offset, Start: part.bounds.Start, End: part.bounds.End}
	}
	limit := min(part.maxBytes, left)
	if part.offset >= part.visible(isolation) || limit <= 0 && !first {
		return nil
	}
	found, err := part.p.Read(part.offset, max(limit, 1), isolation)
	if err != nil {
		return err
	}
	if found.Length > limit && !first {
		found.Close() // one batch, too large for what is left: its turn comes when it is first
		return nil
	}
	part.found = found
	return nil
}

// visible is the offset that readers may not reach.
func (part *fetchPart) visible(isolation topic.Isolation) int64 {
	if isolation == topic.ReadCommitted {
		return part.bounds.Stable
	}
	return part.bounds.Durable
}

// release lets go of the files.
func (f *fetch) release() {
	for part := range f.all {
		part.found.Close()
		part.found = log.Range{}
	}
}
