package kafka

import (
	"bufio"
	"encoding/binary"
	"math"

	"brokerd/topic"
)

// The answer to Fetch is encoded here and not by kmsg, so that records go from the file to the socket without passing
// through our memory. Two layouts: plain up to version 11, compact and tagged from 12 on. The order of a partition's
// fields:
//
//	index, error, high watermark, last stable offset, log start (5+), aborted transactions, preferred replica (11+),
//	records, tags (12+)

// fetchEncoder collects the bytes around the records.
type fetchEncoder struct {
	version int16
	b       []byte
	cuts    []cut
}

// cut is a place in the encoded bytes where the records of a partition are to be put in.
type cut struct {
	at   int
	part *fetchPart
}

// send implements reply.
func (f *fetch) send(c *conn, r *request) error {
	defer f.release()
	e := fetchEncoder{version: f.version, b: r.appendHeader(nil)}
	e.response(f)
	total := int64(len(e.b)) - 4 + f.size
	if total > math.MaxInt32 {
		return refuse("a Fetch whose answer has %d bytes", total)
	}
	binary.BigEndian.PutUint32(e.b, uint32(total))

	w := c.s.buffer(c.out)
	defer c.s.recycle(w)
	from := 0
	for _, cut := range e.cuts {
		if _, err := w.Write(e.b[from:cut.at]); err != nil {
			return err
		}
		if err := c.out.sendRange(w, cut.part.found); err != nil {
			return err
		}
		cut.part.count()
		from = cut.at
	}
	if _, err := w.Write(e.b[from:]); err != nil {
		return err
	}
	return w.Flush()
}

// count adds what was sent to the topic's counters.
func (part *fetchPart) count() {
	stats := part.p.Topic().Stats()
	stats.RecordsOut.Add(part.found.Next - part.found.Base)
	stats.BytesOut.Add(part.found.Length)
}

func (e *fetchEncoder) response(f *fetch) {
	e.int32(0) // throttle time
	if e.version >= 7 {
		e.int16(codeOf(f.err))
		e.int32(f.session)
	}
	e.length(countTopics(f.parts))
	for from := 0; from < len(f.parts); {
		of := f.parts[from : from+sameTopic(f.parts[from:])]
		if e.version >= 13 {
			e.b = append(e.b, of[0].id[:]...)
		} else {
			e.string(of[0].name)
		}
		e.length(len(of))
		for i := range of {
			e.partition(&of[i], f.isolation)
		}
		e.tags()
		from += len(of)
	}
	e.tags()
}

// sameTopic is how many partitions at the start of parts belong to one topic. A topic whose partitions do not stand side
// by side in a session is named more than once.
func sameTopic(parts []fetchPart) int {
	n := 1
	for n < len(parts) && parts[n].topicKey == parts[0].topicKey {
		n++
	}
	return n
}

func countTopics(parts []fetchPart) (n int) {
	for ; len(parts) > 0; parts = parts[sameTopic(parts):] {
		n++
	}
	return n
}

func (e *fetchEncoder) partition(part *fetchPart, isolation topic.Isolation) {
	high, stable, start := int64(-1), int64(-1), int64(-1)
	if part.err == nil {
		high, stable, start = part.bounds.Durable, part.bounds.Stable, part.bounds.Start
	}
	e.int32(part.index)
	e.int16(codeOf(part.err))
	e.int64(high)
	e.int64(stable)
	if e.version >= 5 {
		e.int64(start)
	}
	// Aborted transactions: none, since there are no transactions; a list only for those who ask for one.
	if isolation == topic.ReadCommitted {
		e.length(0)
	} else {
		e.nullArray()
	}
	if e.version >= 11 {
		e.int32(-1) // no preferred replica
	}
	e.records(part)
	e.tags()
}

// records leaves a place for the records. None is an empty array: null stops librdkafka.
func (e *fetchEncoder) records(part *fetchPart) {
	n := part.found.Length
	if e.version >= 12 {
		e.b = binary.AppendUvarint(e.b, uint64(n)+1)
	} else {
		e.int32(int32(n))
	}
	if n > 0 {
		e.cuts = append(e.cuts, cut{len(e.b), part})
	}
}

func (e *fetchEncoder) int16(v int16) { e.b = binary.BigEndian.AppendUint16(e.b, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

// length is that of an array.
func (e *fetchEncoder) length(n int) {
	if e.version >= 12 {
		e.b = binary.AppendUvarint(e.b, uint64(n)+1)
	} else {
		e.int32(int32(n))
	}
}

func (e *fetchEncoder) nullArray() {
	if e.version >= 12 {
		e.b = append(e.b, 0)
	} else {
		e.int32(-1)
	}
}

func (e *fetchEncoder) string(v string) {
	if e.version >= 12 {
		e.b = binary.AppendUvarint(e.b, uint64(len(v))+1)
	} else {
		e.int16(int16(len(v)))
	}
	e.b = append(e.b, v...)
}

// tags closes a structure of the flexible versions: there are none.
func (e *fetchEncoder) tags() {
	if e.version >= 12 {
		e.b = append(e.b, 0)
	}
}

// bufferSize is the memory that an answer with records is sent through.
const bufferSize = 128 << 10

// buffer returns a recycled writer to s.
func (s *Server) buffer(to *sender) *bufio.Writer {
	if w, ok := s.buffers.Get().(*bufio.Writer); ok {
		w.Reset(to)
		return w
	}
	return bufio.NewWriterSize(to, bufferSize)
}

func (s *Server) recycle(w *bufio.Writer) {
	w.Reset(nil)
	s.buffers.Put(w)
}
