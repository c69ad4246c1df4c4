package nats

import (
	"encoding/json"
	"errors"

	"brokerd/topic/stream"
)

// How many entries one answer has, at most (nats-server's numbers, except the last one).
const (
	namesLimit    = 1024
	listLimit     = 256
	subjectsLimit = 100_000
	deletedLimit  = 1 << 20
)

// page is where a part of a list stands.
type page struct {
	Total  int `json:"total"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// pageRequest asks for a part of a list.
type pageRequest struct {
	Offset int `json:"offset"`
}

// cut takes one page of all.
func cut[T any](all []T, offset, limit int) ([]T, page) {
	offset = min(max(offset, 0), len(all))
	p := page{Total: len(all), Offset: offset, Limit: limit}
	return all[offset:min(offset+limit, len(all))], p
}

// done is the answer to a request that has none but that it worked.
type done struct {
	Success bool `json:"success"`
}

// refusal takes the place of an answer's payload.
type refusal struct {
	Error *stream.Error `json:"error"`
}

type pagedRefusal struct {
	refusal
	page
}

// encode makes the bytes of an answer: the payload's fields (those of an error, if there is one) behind its type.
func (e *endpoint) encode(payload any, err error) ([]byte, error) {
	switch {
	case err != nil && e.paged:
		payload = pagedRefusal{refusal: refusal{apiError(err)}}
	case err != nil:
		payload = refusal{apiError(err)}
	}
	fields, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"type":"`+typePrefix), e.answers...)
	b = append(b, '"')
	if len(fields) > len("{}") {
		b = append(b, ',')
	}
	return append(b, fields[1:]...), nil
}

// apiError is err as clients see it.
func apiError(err error) *stream.Error {
	if e, ok := errors.AsType[*stream.Error](err); ok {
		return e
	}
	return stream.GeneralError(err)
}
