package stream

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brokerd/log"
	"brokerd/topic"
	"brokerd/topic/message"
)

const (
	// maxFirst is the highest sequence that a stream may begin with.
	maxFirst = 1 << 62
	// maxGap is the most sequences that a mirror leaves out at once behind a message.
	maxGap = 1 << 44
)

var errNoCopy = errors.New("the stream takes no copies any more")

// skip leaves sequences out: the next message gets the one after last. The partition's lock is held.
func (s *Stream) skip(t topic.Tail, last uint64) error {
	s.flush(t)
	gap := int64(last) - t.End()
	if gap > maxGap {
		return fmt.Errorf("%d messages are left out at once, at most %d can be", gap, int64(maxGap))
	}
	for ; gap > 0; gap = int64(last) - t.End() {
		if _, err := t.Append(log.Gap(min(gap, math.MaxInt32), time.Now().UnixMilli())); err != nil {
			return err
		}
	}
	return nil
}

// given is the last sequence that was given out. Errors: *Error.
func (s *Stream) given() (last uint64, err error) {
	err = s.with(func(t topic.Tail, c *contents) error {
		last = c.head(t)
		return nil
	})
	return last, err
}

// mirrorIn stores a message of the mirrored stream with the sequence and the time that it has there; done is called as for
// Publish, unless an error is returned. Errors: *Error.
func (s *Stream) mirrorIn(m message.Message, done func(Receipt, error)) error {
	in := &incoming{
		Publication: Publication{Subject: m.Subject, Header: m.Header, Data: m.Data, Done: done},
		headers:     parseHeaders(m.Header), copied: true, time: m.Time.UnixMilli(),
	}
	if tr := s.transform.Load(); tr != nil {
		in.Subject, _ = tr.Apply(m.Subject)
	}
	if last, err := s.given(); err == nil && last == 0 && m.Sequence > 1 {
		if err := s.part.Advance(int64(m.Sequence) - 1); err != nil {
			return explain(err)
		}
	}
	return s.copyIn(in, func(t topic.Tail, c *contents, conf *Config) error {
		if conf.Mirror == nil {
			return errNoCopy
		}
		if m.Sequence <= c.head(t) {
			return errNoCopy // another copy of it was faster
		}
		if m.Sequence > c.head(t)+1 {
			return s.skip(t, m.Sequence-1)
		}
		return nil
	})
}

// sourceIn stores a message of a source; done is called as for Publish, unless an error is returned. Errors: *Error.
func (s *Stream) sourceIn(m message.Message, header []byte, done func(Receipt, error)) error {
	in := &incoming{
		Publication: Publication{Subject: m.Subject, Header: header, Data: m.Data, Done: done},
		headers:     parseHeaders(header), copied: true, sourced: true,
	}
	return s.copyIn(in, func(_ topic.Tail, _ *contents, conf *Config) error {
		if len(conf.Sources) == 0 || conf.Sealed {
			return errNoCopy
		}
		return nil
	})
}

// copyIn takes a message of another stream after prepare, with the partition's lock held all the time.
func (s *Stream) copyIn(m *incoming, prepare func(topic.Tail, *contents, *Config) error) error {
	err := s.with(func(t topic.Tail, c *contents) error {
		if err := prepare(t, c, s.config.Load()); err != nil {
			return err
		}
		return s.accept(t, c, m)
	})
	if err == nil {
		s.wake()
	}
	return err
}

// position is how far a source is copied.
type position struct {
	Sequence uint64 `json:"seq"`              // the last one that is copied
	Origin   string `json:"origin,omitempty"` // which stream of that name it was; "" when that is not known
}

// identity tells a stream from others that had its name before.
func (s *Stream) identity() string { return s.topic.ID().String()[:8] }

// sourceHeader is the value of Nats-Stream-Source, which says where a message was copied from: the stream, the sequence
// there, which source it was, the subject there, and which stream of that name.
func (s *Source) sourceHeader(m message.Message, origin string) string {
	filter, destination := s.selection()
	return fmt.Sprintf("%s %d %s %s %s %s", s.Name, m.Sequence, filter, destination, m.Subject, origin)
}

// parseSourceHeader reads the key of the source, and how far it was copied.
func parseSourceHeader(value string) (key string, at position, ok bool) {
	parts := strings.SplitN(value, " ", 6)
	if len(parts) < 4 {
		return "", position{}, false
	}
	sequence, err := strconv.ParseUint(parts[1], 10, 64)
	at.Sequence = sequence
	if len(parts) == 6 {
		at.Origin = parts[5]
	}
	return parts[0] + " " + parts[2] + " " + parts[3], at, err == nil
}

// sourced is the header block of a message that is copied, with where it comes from. What was a condition there is none
// here.
func sourced(header []byte, from string) []byte {
	if len(header) == 0 {
		return []byte(headerOpening + headerSource + ": " + from + "\r\n\r\n")
	}
	var b bytes.Buffer
	b.Grow(len(header) + len(headerSource) + len(from) + 4)
	for line := range bytes.Lines(header) {
		switch name, _, _ := bytes.Cut(line, []byte(":")); {
		case len(bytes.TrimSpace(line)) == 0:
		case string(name) == headerSource:
		case bytes.HasPrefix(name, []byte("Nats-Expected-")), bytes.HasPrefix(name, []byte("Nats-Batch-")):
		default:
			b.Write(line)
		}
	}
	b.WriteString(headerSource + ": " + from + "\r\n\r\n")
	return b.Bytes()
}
