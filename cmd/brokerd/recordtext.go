package main

import (
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// millis is RFC 3339 with the milliseconds that a record's time has.
const millis = "2006-01-02T15:04:05.000Z07:00"

// renderer writes one record.
type renderer func(w io.Writer, r *kgo.Record) error

// columns are the parts of a record that `consume` can put before its value.
type columns struct{ timestamp, offset, key, headers bool }

// layout is the columns as a layout of kgo.RecordFormatter: tabs between them, the value last.
func (c columns) layout() string {
	var parts []string
	if c.timestamp {
		parts = append(parts, "%d{go#"+millis+"#}")
	}
	if c.offset {
		parts = append(parts, "%p", "%o")
	}
	if c.key {
		parts = append(parts, "%k")
	}
	if c.headers {
		parts = append(parts, "%h{%k=%v;}")
	}
	return strings.Join(append(parts, "%v"), `\t`) + `\n`
}

// newTextRenderer renders by a layout of kgo.RecordFormatter.
func newTextRenderer(layout string) (renderer, error) {
	f, err := kgo.NewRecordFormatter(layout)
	if err != nil {
		return nil, err
	}
	var buf []byte
	return func(w io.Writer, r *kgo.Record) error {
		buf = f.AppendRecord(buf[:0], r)
		_, err := w.Write(buf)
		return err
	}, nil
}

// recordText is a record as JSON. Bytes that are not UTF-8 stand in the field with _base64 in its name instead.
type recordText struct {
	Topic       string       `json:"topic"`
	Partition   int32        `json:"partition"`
	Offset      int64        `json:"offset"`
	Timestamp   string       `json:"timestamp"`
	Key         any          `json:"key,omitempty"`
	KeyBase64   []byte       `json:"key_base64,omitempty"`
	Value       any          `json:"value,omitempty"`
	ValueBase64 []byte       `json:"value_base64,omitempty"`
	Headers     []headerText `json:"headers,omitempty"`
}

type headerText struct {
	Key         string `json:"key"`
	Value       any    `json:"value,omitempty"`
	ValueBase64 []byte `json:"value_base64,omitempty"`
}

func newJSONRenderer() renderer {
	return func(w io.Writer, r *kgo.Record) error {
		t := recordText{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UTC().Format(millis)}
		t.Key, t.KeyBase64 = textOrBytes(r.Key)
		t.Value, t.ValueBase64 = textOrBytes(r.Value)
		for _, h := range r.Headers {
			ht := headerText{Key: h.Key}
			ht.Value, ht.ValueBase64 = textOrBytes(h.Value)
			t.Headers = append(t.Headers, ht)
		}
		return printJSON(w, t)
	}
}

// textOrBytes is b as a JSON string or null, or, when it is no text, as bytes.
func textOrBytes(b []byte) (text any, raw []byte) {
	switch {
	case b == nil:
		return json.RawMessage("null"), nil
	case utf8.Valid(b):
		return string(b), nil
	}
	return nil, b
}

// timeText is a time in milliseconds since 1970, for people.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(millis) }
