package nats

import (
	"context"
	"errors"
	"strings"
	"time"

	"brokerd/topic/stream"
)

// streamRequest is the body of STREAM.CREATE and STREAM.UPDATE.
type streamRequest struct {
	stream.Config
	Pedantic bool `json:"pedantic"` // refuse what would be put right without a word
}

type createdStream struct {
	streamInfo
	Created bool `json:"did_create"`
}

func (a *api) createStream(r *request) (any, error) {
	var q streamRequest
	if err := r.strict(&q); err != nil {
		return nil, err
	}
	if err := checkStreamName(r.token(2), q.Config.Name); err != nil {
		return nil, err
	}
	if q.Sealed {
		return nil, stream.InvalidConfig(errors.New("stream configuration for create can not be sealed"))
	}
	if q.MirrorDirect && q.Mirror == nil {
		return nil, stream.InvalidConfig(errors.New("stream has no mirror but does have mirror direct"))
	}
	q.Metadata = withoutVersions(q.Metadata)
	s, err := a.streams.Create(q.Config, q.Pedantic)
	if err != nil {
		return nil, err
	}
	info, err := a.describe(s)
	if err != nil {
		return nil, err
	}
	return createdStream{info, true}, nil
}

func (a *api) updateStream(r *request) (any, error) {
	var q streamRequest
	if err := r.strict(&q); err != nil {
		return nil, err
	}
	if err := checkStreamName(r.token(2), q.Config.Name); err != nil {
		return nil, err
	}
	q.Metadata = withoutVersions(q.Metadata)
	s, err := a.streams.Update(q.Config, q.Pedantic)
	if err != nil {
		return nil, err
	}
	return a.describe(s)
}

// checkStreamName compares the stream's name in a request's subject with the one in its body.
func checkStreamName(inSubject, inBody string) error {
	if inSubject != inBody {
		return stream.ErrStreamMismatch
	}
	if strings.ContainsAny(inSubject, `\/`) {
		return stream.ErrNamePathSeparators
	}
	return nil
}

// stream finds the stream that the i-th token of the subject names.
func (a *api) stream(r *request, i int) (*stream.Stream, error) {
	s, ok := a.streams.Get(r.token(i))
	if !ok {
		return nil, stream.ErrStreamNotFound
	}
	return s, nil
}

// flushLimit bounds the wait for what was published before a request.
const flushLimit = 2 * time.Second

// flushed is stream, when everything that was published before the request can be read.
func (a *api) flushed(r *request, i int) (*stream.Stream, error) {
	s, err := a.stream(r, i)
	if err == nil {
		flush(s)
	}
	return s, err
}

func flush(s *stream.Stream) {
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	s.Flush(ctx)
}

func (a *api) deleteStream(r *request) (any, error) {
	if !r.empty() {
		return nil, stream.ErrNotEmptyRequest
	}
	s, err := a.stream(r, 2)
	if err != nil {
		return nil, err
	}
	if err := a.streams.Delete(s.Name()); err != nil {
		return nil, err
	}
	return done{true}, nil
}

type purgeRequest struct {
	Filter string `json:"filter"`
	Below  uint64 `json:"seq"`
	Keep   uint64 `json:"keep"`
}

type purged struct {
	done
	Purged uint64 `json:"purged"`
}

func (a *api) purgeStream(r *request) (any, error) {
	var q purgeRequest
	if err := r.optional(&q); err != nil {
		return nil, err
	}
	if q.Below > 0 && q.Keep > 0 {
		return nil, stream.ErrBadRequest
	}
	s, err := a.flushed(r, 2)
	if err != nil {
		return nil, err
	}
	switch c := s.Config(); {
	case c.Sealed:
		return nil, stream.ErrSealed
	case c.DenyPurge:
		return nil, stream.PurgeFailed(errors.New("stream purge not permitted"))
	}
	n, err := s.Purge(stream.Purge(q))
	if err != nil {
		return nil, err
	}
	return purged{done{true}, n}, nil
}
