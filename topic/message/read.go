package message

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"

	"brokerd/log"
)

// read makes a record of all that it understands of m. exact says that show makes m of it again.
func (n Naming) read(m Message) (r log.Record, exact bool) {
	r = log.Record{Offset: int64(m.Sequence) - 1, Timestamp: m.Time.UnixMilli(), Value: m.Data}
	if r.Value == nil {
		r.Value = []byte{}
	}
	r.Key, exact = n.key(m.Subject)
	if len(m.Header) == 0 {
		return r, exact
	}
	b := readBlock(m.Header)
	r.Headers = b.headers
	if b.key != nil {
		if s, whole := n.subject(b.key); s == m.Subject && !whole {
			r.Key = b.key
		}
	}
	deleted := n.KV && b.value == "" && deletes(b.operation)
	if len(m.Data) == 0 && (deleted || b.value == nullValue) {
		r.Value = nil
	}
	if r.Value == nil && deleted && b.operationAt == 0 && b.operation == deleteKey {
		r.Headers = r.Headers[1:]
	}
	if b.plain && r.Value != nil {
		return r, exact
	}
	again := n.show(r)
	return r, again.Subject == m.Subject && bytes.Equal(again.Header, m.Header)
}

// block is what a header block says.
type block struct {
	headers     []log.Header
	plain       bool   // it has nothing but plain headers, in the form that show gives them
	key         []byte // fieldKey's; nil for none
	value       string // fieldValue's; "" for none
	operation   string // the first KV-Operation's value
	operationAt int    // and its place; -1 for none
}

// readBlock reads the lines that it can and leaves out the others. Their number is bounded by the size of header, whose
// memory the values share.
func readBlock(header []byte) block {
	text, opened := strings.CutPrefix(string(header), opening)
	if !opened { // a status line, or what is no header block at all
		_, text, _ = strings.Cut(text, "\n")
	}
	values := header[len(header)-len(text):]
	b := block{plain: opened, operationAt: -1, headers: make([]log.Header, 0, strings.Count(text, "\n"))}
	for len(text) > 0 {
		line, rest, ended := strings.Cut(text, "\n")
		value := values[:len(line)]
		text, values = rest, values[len(values)-len(rest):]
		line, whole := strings.CutSuffix(line, "\r")
		b.plain = b.plain && ended && whole
		if line == "" {
			b.plain = b.plain && text == "" && len(b.headers) > 0
			return b
		}
		name, _, colon := strings.Cut(line, ":")
		if !colon || name == "" {
			b.plain = false
			continue
		}
		value = value[len(name)+1 : len(line)]
		b.add(name, value)
	}
	b.plain = false // without its end
	return b
}

// add takes one line, whose value has the white space around it still.
func (b *block) add(name string, padded []byte) {
	value := bytes.Trim(padded, " \t")
	if value == nil { // what Trim makes of nothing but space
		value = []byte{}
	}
	h := log.Header{Key: name, Value: value[:len(value):len(value)]}
	if len(padded) != len(value)+1 || padded[0] != ' ' || !plain(h) {
		b.plain = false
		if b.special(name, string(value)) {
			return
		}
	}
	if name == fieldOperation && b.operationAt < 0 {
		b.operation, b.operationAt = string(value), len(b.headers)
	}
	b.headers = append(b.headers, h)
}

// special takes a line that carries something of a record, once. One that is not understood is a header like any other.
func (b *block) special(name, value string) bool {
	switch name {
	case fieldKey:
		if key, err := base64.StdEncoding.Strict().DecodeString(value); err == nil && b.key == nil {
			b.key = key
			return true
		}
	case fieldValue:
		if b.value == "" && (value == nullValue || value == emptyValue) {
			b.value = value
			return true
		}
	case fieldHeader:
		if h, ok := unwrap(value); ok {
			b.headers = append(b.headers, h)
			return true
		}
	}
	return false
}

func unwrap(s string) (log.Header, bool) {
	name, value, found := strings.Cut(s, "=")
	key, err := url.PathUnescape(name)
	if err != nil || !found {
		return log.Header{Key: key}, err == nil
	}
	v, err := base64.StdEncoding.Strict().DecodeString(value)
	return log.Header{Key: key, Value: v}, err == nil
}
