package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/topic"
)

// Fetch (1), versions 4 to 18. Partitions are read in the order of the request, or of its session: the first one with
// records gives at least one whole batch, whatever the limits; the others keep to them. A batch is always sent whole, also
// when the offset lies inside it. Followers do not exist. Damaged records fail their partition alone.

// maxFetchBytes bounds an answer, apart from a first batch that is larger.
const maxFetchBytes = 55 << 20

// fetch is one Fetch request at work.
type fetch struct {
	version   int16
	isolation topic.Isolation
	maxWait   time.Duration
	minBytes  int64
	maxBytes  int64
	parts     []fetchPart

	size   int64 // bytes of records found by the last pass
	failed bool  // the last pass met an error

	session int32 // id, 0 for none
	err     error // of the session: there are no partitions
}

// fetchPart is one partition of a request and what the last pass found for it.
type fetchPart struct {
	sessionPart
	p       *topic.Partition // nil: missing says why
	missing error

	err    error
	bounds log.Bounds
	found  log.Range // to be closed
}

func (s *Server) fetch(r *request) answer {
	req := r.body.(*kmsg.FetchRequest)
	if req.Version < 7 {
		req.SessionID, req.SessionEpoch = 0, epochNone
	}
	return func(ctx context.Context) (reply, error) {
		if req.SessionEpoch == epochNone || req.SessionEpoch == epochOpen {
			return s.fetchAll(ctx, r, req), nil
		}
		return s.fetchNews(ctx, r, req), nil
	}
}

// fetchAll answers a request that names all of its partitions, and opens a session if the client wants one.
func (s *Server) fetchAll(ctx context.Context, r *request, req *kmsg.FetchRequest) *fetch {
	s.sessions.drop(req.SessionID)
	all := newSession(namesByID(req))
	all.update(req)
	f := s.planFetch(req, all)
	f.run(ctx, r.accepting.Done())
	if req.SessionEpoch == epochOpen {
		all.settle(f.findings())
		f.session = s.sessions.keep(all, time.Now())
	}
	return f
}

// fetchNews answers a request that continues a session.
func (s *Server) fetchNews(ctx context.Context, r *request, req *kmsg.FetchRequest) *fetch {
	held, err := s.sessions.hold(req)
	if err != nil {
		return &fetch{version: req.Version, err: err}
	}
	defer func() { s.sessions.release(held, time.Now()) }()
	held.update(req)
	kept := s.sessions.resize(held)
	if !kept && len(held.parts) > 0 {
		err := faultf(codeFetchSessionIDNotFound, "fetch session %d has grown too large", held.id)
		return &fetch{version: req.Version, err: err}
	}
	f := s.planFetch(req, held.session)
	f.run(ctx, r.accepting.Done())
	f.keepOnly(held.settle(f.findings()))
	if kept {
		f.session = held.id
	}
	return f
}

// namesByID says that a request names topics by id.
func namesByID(req *kmsg.FetchRequest) bool { return req.Version >= 13 }

// planFetch makes a fetch of the partitions of a session.
func (s *Server) planFetch(req *kmsg.FetchRequest, of *session) *fetch {
	f := &fetch{
		version:  req.Version,
		maxWait:  time.Duration(req.MaxWaitMillis) * time.Millisecond,
		maxBytes: min(int64(req.MaxBytes), maxFetchBytes),
		parts:    make([]fetchPart, len(of.parts)),
	}
	f.minBytes = min(int64(req.MinBytes), f.maxBytes)
	if req.IsolationLevel == 1 {
		f.isolation = topic.ReadCommitted
	}
	find := finder{s.topics, of.byID}
	for i, asked := range of.parts {
		part := &f.parts[i]
		part.sessionPart = *asked
		part.p, part.missing = find.partition(asked.name, asked.id, asked.index)
	}
	return f
}

// findings are what the session must know of the last pass.
func (f *fetch) findings() []finding {
	found := make([]finding, len(f.parts))
	for i := range f.parts {
		part := &f.parts[i]
		found[i] = finding{part.bounds.Durable, part.bounds.Start, part.found.Length > 0, part.err != nil}
	}
	return found
}

// keepOnly leaves out partitions of which the client need not hear; none of them has records.
func (f *fetch) keepOnly(tell []bool) {
	kept := f.parts[:0]
	for i, part := range f.parts {
		if tell[i] {
			kept = append(kept, part)
		}
	}
	f.parts = kept
}

// run reads, and waits for more until there is enough, something failed, or the client's time is over.
func (f *fetch) run(ctx context.Context, draining <-chan struct{}) {
	if f.pass(); f.maxWait <= 0 || f.enough() {
		return
	}
	timer := time.NewTimer(f.maxWait)
	defer timer.Stop()
	moved := make(chan struct{}, 1)
	for i := range f.parts {
		defer f.parts[i].p.Watch(moved)()
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

func (f *fetch) enough() bool { return f.failed || f.size >= f.minBytes || len(f.parts) == 0 }

// pass looks once at every partition.
func (f *fetch) pass() {
	f.size, f.failed = 0, false
	for i := range f.parts {
		part := &f.parts[i]
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
	for i := range f.parts {
		f.parts[i].found.Close()
		f.parts[i].found = log.Range{}
	}
}
