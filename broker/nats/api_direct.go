package nats

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"brokerd/topic/message"
	"brokerd/topic/stream"
)

const (
	// multiLimit is the most messages that multi_last may find (ADR-31).
	multiLimit = 1024
	// directBytes bounds a batch that names no bound itself.
	directBytes = 64 << 20
)

// directThere says whether the stream exists and may be read directly.
func (a *api) directThere(r *request) bool {
	s, err := a.stream(r, 2)
	return err == nil && s.Config().AllowDirect
}

// directGet is DIRECT.GET.STREAM: the message itself, or a status, is the answer.
func (a *api) directGet(r *request) {
	if r.reply == "" {
		return
	}
	if r.tooNew() {
		a.status(r, "412 Required Api Level")
		return
	}
	if len(r.body) == 0 {
		a.status(r, "408 Empty Request")
		return
	}
	var q getRequest
	if err := json.Unmarshal(r.body, &q); err != nil {
		a.status(r, "408 Malformed Request")
		return
	}
	if !q.names() && len(q.MultiLast) == 0 {
		a.status(r, "408 Empty Request")
		return
	}
	if q.contradicts() || q.mixesBatches() {
		a.status(r, "408 Bad Request")
		return
	}
	a.direct(r, &q)
}

// mixesBatches says that the request combines what only makes sense alone in a request for several messages.
func (q *getRequest) mixesBatches() bool {
	multi := len(q.MultiLast) > 0
	return q.Last != "" && (q.Batch > 0 || multi) || q.Next != "" && multi || q.UpTo > 0 && q.UpToTime != nil
}

// directGetLast is DIRECT.GET.STREAM.SUBJECT, the newest message of a subject.
func (a *api) directGetLast(r *request) {
	if r.reply == "" {
		return
	}
	if r.tooNew() {
		a.status(r, "412 Required Api Level")
		return
	}
	var q getRequest
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &q); err != nil {
			a.status(r, "408 Malformed Request")
			return
		}
	}
	if q.names() || len(q.MultiLast) > 0 || q.Batch != 0 || q.UpTo != 0 || q.UpToTime != nil {
		a.status(r, "408 Bad Request")
		return
	}
	q.Last = r.after(2)
	a.direct(r, &q)
}

// direct answers a request that makes sense.
func (a *api) direct(r *request, q *getRequest) {
	s, err := a.stream(r, 2)
	if err != nil {
		return // deleted since; the client's time runs out
	}
	d := &direct{api: a, request: r, query: q, stream: s, budget: q.MaxBytes}
	if d.budget <= 0 {
		d.budget = directBytes
	}
	switch {
	case len(q.MultiLast) > 0:
		d.multi()
	case q.Batch > 0:
		d.batch()
	default:
		d.single()
	}
}

// direct is one direct get.
type direct struct {
	*api
	request *request
	query   *getRequest
	stream  *stream.Stream
	budget  int    // bytes that may still be sent
	last    uint64 // sequence that was sent before
}

func (d *direct) single() {
	m, err := d.query.first(d.stream)
	if err != nil {
		d.status(d.request, "404 Message Not Found")
		return
	}
	var header []byte
	if !d.query.NoHeader {
		header = d.describe(m)
		header = endHeader(header, m.Header)
	}
	d.door.Answer(d.request.reply, "", header, m.Data)
}

// batch sends messages in the order of the stream.
func (d *direct) batch() {
	from, err := d.query.from(d.stream)
	if err != nil {
		d.status(d.request, "404 Message Not Found")
		return
	}
	var filters []string
	if d.query.Next != "" {
		filters = []string{d.query.Next}
	}
	cursor := d.stream.Cursor()
	defer cursor.Close()
	pending := d.stream.Pending(from, filters)
	for sent := 0; sent < d.query.Batch && d.budget > 0; {
		sequence, ok := d.stream.Next(from, filters)
		if !ok {
			break
		}
		from = sequence + 1
		m, err := cursor.Get(sequence)
		if err != nil {
			continue // deleted since
		}
		pending -= min(pending, 1)
		if !d.send(m, pending) {
			return
		}
		sent++
	}
	if d.last == 0 {
		d.status(d.request, "404 Message Not Found")
		return
	}
	d.end(d.stream.Pending(from, filters), "")
}

// multi sends the newest message of each subject, as of a sequence or a time.
func (d *direct) multi() {
	upTo, ok := d.ceiling()
	if !ok {
		d.status(d.request, "404 No Results")
		return
	}
	all := d.stream.LastPerSubject(d.query.MultiLast, upTo)
	for len(all) > 0 && all[0] < d.query.Sequence {
		all = all[1:]
	}
	switch {
	case len(all) > multiLimit:
		d.status(d.request, "413 Too Many Results")
		return
	case len(all) == 0:
		d.status(d.request, "404 No Results")
		return
	}
	cursor := d.stream.Cursor()
	defer cursor.Close()
	pending := uint64(len(all))
	for sent := 0; len(all) > 0 && d.budget > 0 && (d.query.Batch <= 0 || sent < d.query.Batch); {
		sequence := all[0]
		all = all[1:]
		pending--
		m, err := cursor.Get(sequence)
		if err != nil {
			continue // deleted since
		}
		if !d.send(m, pending) {
			return
		}
		sent++
	}
	d.end(pending, "Nats-UpTo-Sequence: "+strconv.FormatUint(upTo, 10)+"\r\n")
}

// ceiling is the last sequence that multi looks at; false when none can be.
func (d *direct) ceiling() (uint64, bool) {
	st, err := d.stream.State()
	if err != nil {
		return 0, false
	}
	switch {
	case d.query.UpTo > 0:
		return d.query.UpTo, true
	case d.query.UpToTime == nil:
		return st.Last, st.Last > 0
	}
	after, err := d.stream.AtTime(*d.query.UpToTime)
	if err != nil || after <= st.First {
		return 0, false
	}
	return after - 1, true
}

// send sends one message of several, when the client has room for it; false when it is gone.
func (d *direct) send(m message.Message, pending uint64) bool {
	if !d.room(d.request) {
		return false
	}
	var header []byte
	if !d.query.NoHeader {
		header = d.describe(m)
		header = appendField(header, "Nats-Num-Pending", strconv.FormatUint(pending, 10))
		header = appendField(header, "Nats-Last-Sequence", strconv.FormatUint(d.last, 10))
		header = endHeader(header, m.Header)
	}
	d.door.Answer(d.request.reply, "", header, m.Data)
	d.budget -= len(m.Subject) + len(m.Header) + len(m.Data)
	d.last = m.Sequence
	return true
}

// end says that this was all.
func (d *direct) end(pending uint64, more string) {
	header := []byte("NATS/1.0 204 EOB\r\n")
	header = appendField(header, "Nats-Num-Pending", strconv.FormatUint(pending, 10))
	header = appendField(header, "Nats-Last-Sequence", strconv.FormatUint(d.last, 10))
	header = append(header, more...)
	d.door.Answer(d.request.reply, "", append(header, "\r\n"...), nil)
}

// describe begins the header block of a message that is sent by itself.
func (d *direct) describe(m message.Message) []byte {
	b := []byte("NATS/1.0\r\n")
	b = appendField(b, "Nats-Stream", d.stream.Name())
	b = appendField(b, "Nats-Subject", m.Subject)
	b = appendField(b, "Nats-Sequence", strconv.FormatUint(m.Sequence, 10))
	return appendField(b, "Nats-Time-Stamp", m.Time.UTC().Format(time.RFC3339Nano))
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// endHeader puts the fields of another header block behind those of b, and ends it.
func endHeader(b, own []byte) []byte {
	_, fields, ok := bytes.Cut(own, []byte("\r\n"))
	if !ok || len(fields) == 0 {
		return append(b, "\r\n"...)
	}
	return append(b, fields...)
}

// room waits until the client has taken what was sent to it before; false when it is gone.
func (a *api) room(r *request) bool {
	if a.door.Room(r.reply) > 0 {
		return r.from.ctx.Err() == nil
	}
	changed := make(chan struct{}, 1)
	defer a.door.Watch(r.reply, changed)()
	for a.door.Room(r.reply) <= 0 {
		select {
		case <-changed:
		case <-r.from.ctx.Done():
			return false
		}
	}
	return true
}
