package stream

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Headers that a stream acts on.
const (
	headerID               = "Nats-Msg-Id"
	headerExpectedStream   = "Nats-Expected-Stream"
	headerExpectedSequence = "Nats-Expected-Last-Sequence"
	headerExpectedLast     = "Nats-Expected-Last-Subject-Sequence"
	headerExpectedSubject  = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerExpectedID       = "Nats-Expected-Last-Msg-Id"
	headerRollup           = "Nats-Rollup"
	headerTTL              = "Nats-TTL"
	headerMarker           = "Nats-Marker-Reason"
	headerOperation        = "KV-Operation"
	headerIncrement        = "Nats-Incr"
	headerBatch            = "Nats-Batch-Id"
	headerBatchSequence    = "Nats-Batch-Sequence"
	headerBatchCommit      = "Nats-Batch-Commit"
	headerSource           = "Nats-Stream-Source"
	headerSchedule         = "Nats-Schedule"
	headerOpening          = "NATS/1.0\r\n"
	ttlNever               = time.Duration(-1)
	maxHeader              = 1<<16 - 1
)

// headers are those of a message that a stream acts on; of several with one name, the first.
type headers struct {
	id, expectedStream, expectedSequence, expectedLast, expectedSubject, expectedID string
	rollup, ttl, increment, source, schedule, scheduler, scheduleNext               string
	batch, batchSequence, batchCommit                                               string
}

// field is where the value of a header goes; nil for one that means nothing to a stream.
func (h *headers) field(name string) *string {
	switch name {
	case headerID:
		return &h.id
	case headerExpectedStream:
		return &h.expectedStream
	case headerExpectedSequence:
		return &h.expectedSequence
	case headerExpectedLast:
		return &h.expectedLast
	case headerExpectedSubject:
		return &h.expectedSubject
	case headerExpectedID:
		return &h.expectedID
	case headerRollup:
		return &h.rollup
	case headerTTL:
		return &h.ttl
	case headerIncrement:
		return &h.increment
	case headerSource:
		return &h.source
	case headerSchedule:
		return &h.schedule
	case headerScheduler:
		return &h.scheduler
	case headerScheduleNext:
		return &h.scheduleNext
	case headerBatch:
		return &h.batch
	case headerBatchSequence:
		return &h.batchSequence
	case headerBatchCommit:
		return &h.batchCommit
	}
	return nil
}

// parseHeaders finds them in a header block. Names are compared exactly. What is no header line is passed over.
func parseHeaders(block []byte) (h headers) {
	for len(block) > 0 {
		line := block
		if end := bytes.Index(block, []byte("\r\n")); end >= 0 {
			line, block = block[:end], block[end+2:]
		} else {
			block = nil
		}
		if !bytes.HasPrefix(line, []byte("Nats-")) {
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		if to := h.field(string(name)); to != nil && *to == "" {
			*to = string(bytes.TrimLeft(value, " "))
		}
	}
	return h
}

// setHeader returns a header block in which name has this value alone.
func setHeader(block []byte, name, value string) []byte {
	var b bytes.Buffer
	b.Grow(len(block) + len(headerOpening) + len(name) + len(value) + 6)
	if len(block) == 0 {
		b.WriteString(headerOpening)
	}
	for line := range bytes.Lines(block) {
		if key, _, ok := bytes.Cut(line, []byte(":")); ok && string(key) == name || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		b.Write(line)
	}
	b.WriteString(name + ": " + value + "\r\n\r\n")
	return b.Bytes()
}

// parseSequence reads an expected sequence; one that is none equals no sequence.
func parseSequence(s string) uint64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 1<<64 - 1
	}
	return uint64(n)
}

// parseTTL reads Nats-TTL: a duration of a second or more, cut to whole seconds, a number of seconds, or "never". 0 is none.
func parseTTL(s string) (time.Duration, bool) {
	if strings.EqualFold(s, "never") {
		return ttlNever, true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d.Truncate(time.Second), d >= time.Second
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(1<<63-1)/int64(time.Second) {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// parseRollup reads Nats-Rollup.
func parseRollup(s string) (rollup, bool) {
	switch strings.ToLower(s) {
	case "":
		return rollupNone, true
	case "sub":
		return rollupSubject, true
	case "all":
		return rollupAll, true
	}
	return rollupNone, false
}
