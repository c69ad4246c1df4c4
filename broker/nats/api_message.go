package nats

import (
	"errors"
	"time"

	"brokerd/topic/message"
	"brokerd/topic/stream"
)

// getRequest is the body of STREAM.MSG.GET and of DIRECT.GET (ADR-31).
type getRequest struct {
	Sequence  uint64     `json:"seq"`
	Last      string     `json:"last_by_subj"`
	Next      string     `json:"next_by_subj"` // the first one from Sequence or StartTime on
	Batch     int        `json:"batch"`
	MaxBytes  int        `json:"max_bytes"`
	StartTime *time.Time `json:"start_time"`
	MultiLast []string   `json:"multi_last"` // the newest one of each subject
	UpTo      uint64     `json:"up_to_seq"`
	UpToTime  *time.Time `json:"up_to_time"`
	NoHeader  bool       `json:"no_hdr"`
}

type gotMessage struct {
	Message storedMessage `json:"message"`
}

type storedMessage struct {
	Subject  string    `json:"subject"`
	Sequence uint64    `json:"seq"`
	Header   []byte    `json:"hdrs,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	Time     time.Time `json:"time"`
}

func (a *api) getMessage(r *request) (any, error) {
	if r.empty() {
		return nil, stream.ErrBadRequest
	}
	var q getRequest
	if err := r.lenient(&q); err != nil {
		return nil, err
	}
	if q.Batch > 0 || q.MaxBytes > 0 || !q.names() || q.contradicts() {
		return nil, stream.ErrBadRequest
	}
	s, err := a.flushed(r, 3)
	if err != nil {
		return nil, err
	}
	m, err := q.first(s)
	if err != nil {
		return nil, err
	}
	if q.NoHeader {
		m.Header = nil
	}
	return gotMessage{storedMessage{m.Subject, m.Sequence, m.Header, m.Data, m.Time.UTC()}}, nil
}

// names says that the request names a single message.
func (q *getRequest) names() bool {
	return q.Sequence > 0 || q.Last != "" || q.Next != "" || q.StartTime != nil
}

// contradicts says that the request names it in two ways at once.
func (q *getRequest) contradicts() bool {
	return q.Last != "" && (q.Sequence > 0 || q.StartTime != nil || q.Next != "") || q.Sequence > 0 && q.StartTime != nil
}

// first finds the message that the request names. Whatever keeps it from being read, there is none.
func (q *getRequest) first(s *stream.Stream) (message.Message, error) {
	if q.Last != "" {
		return found(s.Last(q.Last))
	}
	from, err := q.from(s)
	if err != nil {
		return message.Message{}, err
	}
	if q.Next != "" {
		next, ok := s.Next(from, []string{q.Next})
		if !ok {
			return message.Message{}, stream.ErrNoMessage
		}
		from = next
	}
	return found(s.Get(from))
}

// from is the sequence at which to begin.
func (q *getRequest) from(s *stream.Stream) (uint64, error) {
	if q.StartTime == nil {
		return q.Sequence, nil
	}
	return s.AtTime(*q.StartTime)
}

// found makes an error that the API knows for this of one that it has for deleted messages.
func found(m message.Message, err error) (message.Message, error) {
	if e, ok := errors.AsType[*stream.Error](err); ok && e.Code < 500 {
		err = stream.ErrNoMessage
	}
	return m, err
}

type deleteRequest struct {
	Sequence uint64 `json:"seq"`
	NoErase  bool   `json:"no_erase"`
}

func (a *api) deleteMessage(r *request) (any, error) {
	if r.empty() {
		return nil, stream.ErrBadRequest
	}
	var q deleteRequest
	if err := r.lenient(&q); err != nil {
		return nil, err
	}
	s, err := a.flushed(r, 3)
	if err != nil {
		return nil, err
	}
	switch c := s.Config(); {
	case c.Sealed:
		return nil, stream.ErrSealed
	case c.DenyDelete:
		return nil, stream.MessageDeleteFailed(errors.New("message delete not permitted"))
	}
	if err := s.Delete(q.Sequence, !q.NoErase); err != nil {
		return nil, err
	}
	return done{true}, nil
}
