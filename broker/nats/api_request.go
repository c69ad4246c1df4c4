package nats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brokerd/topic/stream"
)

// request is one request to the broker itself. It owns its memory.
type request struct {
	subject string
	reply   string
	header  []byte // the header block; nil for none
	body    []byte
	from    *caller
}

// size is how much memory it holds, about.
func (r *request) size() int { return len(r.subject) + len(r.reply) + len(r.header) + len(r.body) }

// token is the i-th token of what follows the prefix of the API, counted from 0.
func (r *request) token(i int) string {
	rest := strings.TrimPrefix(r.subject, apiPrefix)
	for range i {
		_, rest, _ = strings.Cut(rest, ".")
	}
	token, _, _ := strings.Cut(rest, ".")
	return token
}

// after is everything behind the i-th token.
func (r *request) after(i int) string {
	rest := strings.TrimPrefix(r.subject, apiPrefix)
	for range i + 1 {
		_, rest, _ = strings.Cut(rest, ".")
	}
	return rest
}

// tooNew says that the client wants an API of a higher level (ADR-44).
func (r *request) tooNew() bool {
	value, ok := headerValue(r.header, "Nats-Required-Api-Level")
	if !ok || value == "" {
		return false
	}
	level, err := strconv.Atoi(value)
	return err != nil || level > apiLevel
}

// strict decodes the body into v and refuses fields that v does not have: to ignore a setting would be to promise what is
// not kept. An empty body leaves v as it is.
func (r *request) strict(v any) error {
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	return decode(d, v)
}

// lenient decodes the body into v, without a look at fields that v does not have. An empty body leaves v as it is.
func (r *request) lenient(v any) error {
	return decode(json.NewDecoder(bytes.NewReader(r.body)), v)
}

// optional is lenient where no field has to be there, so that a body that is no object may be anything.
func (r *request) optional(v any) error {
	if !startsJSON(r.body) {
		return nil
	}
	return r.lenient(v)
}

func decode(d *json.Decoder, v any) error {
	for {
		if err := d.Decode(v); err == io.EOF {
			return nil
		} else if err != nil {
			return stream.InvalidJSON(placed(err))
		}
	}
}

// placed adds where the mistake is.
func placed(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w at offset %d", err, syntax.Offset)
	}
	return err
}

// startsJSON says that the body is meant to be an object or an array.
func startsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// empty says that there is no body, or only an object without fields.
func (r *request) empty() bool {
	if len(r.body) == 0 {
		return true
	}
	var fields map[string]json.RawMessage
	return json.Unmarshal(r.body, &fields) == nil && fields != nil && len(fields) == 0
}

// headerValue is the first value of a field of a header block; names are compared exactly (ADR-4).
func headerValue(block []byte, name string) (string, bool) {
	_, rest, _ := bytes.Cut(block, []byte("\r\n"))
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		key, value, ok := bytes.Cut(line, []byte(":"))
		if ok && string(key) == name {
			return strings.TrimSpace(string(value)), true
		}
	}
	return "", false
}
