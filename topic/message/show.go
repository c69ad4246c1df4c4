package message

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"brokerd/log"
)

// NATS headers that carry what of a record NATS has no place for. They come in this order, before the lines of the
// record's own headers, among which fieldHeader stands where the header does that it carries.
const (
	fieldKey    = "Kafka-Key"    // the key in base64
	fieldValue  = "Kafka-Value"  // nullValue or emptyValue
	fieldHeader = "Kafka-Header" // the name, percent-encoded, "=", and the value in base64; without "=" it is null
)

// What fieldValue says of a message without data.
const (
	nullValue  = "null"
	emptyValue = "empty" // not null, although it looks like a deletion
)

// The header by which clients of key-value buckets tell deletions.
const (
	fieldOperation = "KV-Operation"
	deleteKey      = "DEL"
	purgeKey       = "PURGE"
)

// opening is the first line of a header block.
const opening = "NATS/1.0\r\n"

// show makes a message of a record, whatever is in it. read undoes it.
func (n Naming) show(r log.Record) Message {
	s, whole := n.subject(r.Key)
	m := Message{Sequence: uint64(r.Offset) + 1, Time: time.UnixMilli(r.Timestamp).UTC(), Subject: s, Data: r.Value}
	name, value := n.mark(r)
	if whole && name == "" && len(r.Headers) == 0 {
		return m
	}
	b := make([]byte, 0, n.room(r))
	b = append(b, opening...)
	if !whole {
		b = appendLine(b, fieldKey, base64.StdEncoding.EncodeToString(r.Key))
	}
	if name != "" {
		b = appendLine(b, name, value)
	}
	for _, h := range r.Headers {
		if plain(h) {
			b = appendLine(b, h.Key, h.Value)
		} else {
			b = appendLine(b, fieldHeader, wrap(h))
		}
	}
	m.Header = append(b, "\r\n"...)
	return m
}

// room estimates the size of r's header block; it is exact unless something is escaped.
func (n Naming) room(r log.Record) int {
	size := len(opening) + len(fieldOperation) + len(": DEL\r\n\r\n")
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value) + len(": \r\n")
	}
	return size
}

func appendLine[T string | []byte](b []byte, name string, value T) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// mark is the line that tells null and empty values apart, where they would be taken for each other without it.
func (n Naming) mark(r log.Record) (name, value string) {
	if len(r.Value) > 0 {
		return "", ""
	}
	operation, at := "", -1
	if n.KV {
		operation, at = operationOf(r.Headers)
	}
	switch deletes := deletes(operation); {
	case r.Value != nil && deletes:
		return fieldValue, emptyValue
	case r.Value != nil:
		return "", ""
	case n.KV && !deletes:
		return fieldOperation, deleteKey
	case deletes && (at > 0 || operation == purgeKey):
		return "", ""
	}
	return fieldValue, nullValue // also where a first KV-Operation: DEL would be taken for the mark above
}

// operationOf finds the value of the first KV-Operation that NATS clients see, and where it is.
func operationOf(headers []log.Header) (operation string, at int) {
	for i, h := range headers {
		if h.Key == fieldOperation && plain(h) {
			return string(h.Value), i
		}
	}
	return "", -1
}

func deletes(operation string) bool { return operation == deleteKey || operation == purgeKey }

// plain says that a record header can be a line of a NATS header block as it is, and be read by every client: its name is
// printable ASCII without a colon, its value text that begins and ends with no space.
func plain(h log.Header) bool {
	switch h.Key {
	case "", fieldKey, fieldValue, fieldHeader:
		return false
	}
	for i := range len(h.Key) {
		if c := h.Key[i]; c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	v := h.Value
	if v == nil || len(v) > 0 && (v[0] == ' ' || v[len(v)-1] == ' ') {
		return false
	}
	return printable(v)
}

// wrap makes fieldHeader's value of a record header that is not plain. unwrap undoes it.
func wrap(h log.Header) string {
	var b strings.Builder
	for i := range len(h.Key) {
		if c := h.Key[i]; c <= ' ' || c >= 0x7f || c == '%' || c == '=' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	if h.Value != nil {
		b.WriteByte('=')
		b.WriteString(base64.StdEncoding.EncodeToString(h.Value))
	}
	return b.String()
}
