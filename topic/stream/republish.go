package stream

import (
	"bytes"
	"fmt"
	"time"
)

// republication is what repeats a message to core subscribers once it is stored; nil when the configuration does not say so.
// The partition's lock is held.
func (s *Stream) republication(c *contents, conf *Config, m *incoming, sequence uint64, at int64) func() {
	t := s.republish.Load()
	if t == nil || conf.Republish == nil || s.o.Republish == nil {
		return nil
	}
	to, ok := t.Apply(m.Subject)
	if !ok {
		return nil
	}
	var last uint64
	if id, ok := c.index.subjects.ids[m.Subject]; ok {
		last = c.index.subjects.list[id].newest()
	}
	header := bytes.TrimSuffix(m.Header, []byte("\r\n"))
	if len(header) == 0 {
		header = []byte(headerOpening)
	}
	when := time.UnixMilli(at).UTC().Format(time.RFC3339Nano)
	header = fmt.Appendf(bytes.Clone(header), "Nats-Stream: %s\r\nNats-Subject: %s\r\nNats-Sequence: %d\r\nNats-Time-Stamp: %s\r\nNats-Last-Sequence: %d\r\n",
		conf.Name, m.Subject, sequence, when, last)
	var data []byte
	if conf.Republish.HeadersOnly {
		header = fmt.Appendf(header, "Nats-Msg-Size: %d\r\n", len(m.Data))
	} else {
		data = bytes.Clone(m.Data)
	}
	header = append(header, "\r\n"...)
	return func() { s.o.Republish(to, header, data) }
}
