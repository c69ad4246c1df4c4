package durable

import (
	"fmt"
	"time"
)

// pushed accounts for a message that was sent to the deliver subject.
func (m *machine) pushed(size int, now time.Time) {
	if m.config.Heartbeat > 0 {
		m.beat = now.Add(m.config.Heartbeat)
	}
	if m.window.sent(size) {
		m.do(status{inbox: m.config.DeliverSubject, line: "100 FlowControl Request", reply: m.window.ask(m.names)})
	}
}

// listen looks whether somebody listens to the deliver subject, and sends the heartbeat that is due.
func (m *machine) listen(now time.Time, to clients) {
	bound := to.Listening(m.config.DeliverSubject, m.config.DeliverGroup)
	if bound != m.bound {
		m.bound, m.last.used = bound, now
		m.window.reset(m.config)
		m.beat = time.Time{}
		if bound && m.config.Heartbeat > 0 {
			m.beat = now.Add(m.config.Heartbeat)
		}
	}
	if m.beat.IsZero() || now.Before(m.beat) {
		return
	}
	m.beat = now.Add(m.config.Heartbeat)
	m.do(status{inbox: m.config.DeliverSubject, line: m.heartbeat() + m.window.stalled()})
}

func (m *machine) heartbeat() string {
	return fmt.Sprintf("100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\nNats-Last-Stream: %d",
		m.delivered.consumer, max(m.delivered.stream, m.next-1))
}

// How many bytes may be on their way to a client that does flow control: so many at first, twice as many after each
// answer, up to the most.
const (
	firstWindow = 2 << 20
	mostWindow  = 32 << 20
)

// window is flow control: what was sent and not yet answered for. The zero window is always open.
type window struct {
	size  int // zero: no flow control
	bytes int // sent and not answered for
	asked int // so many of them were sent before the request that is not answered
	id    string
	count uint64
}

// reset opens the window for a client that is new.
func (w *window) reset(c Config) {
	*w = window{count: w.count}
	if c.FlowControl {
		w.size = firstWindow
	}
}

func (w *window) full() bool { return w.size > 0 && w.bytes > w.size }

// sent adds a message, and says whether it is time to ask the client how far it is.
func (w *window) sent(size int) bool {
	if w.size == 0 {
		return false
	}
	w.bytes += size
	return w.id == "" && w.bytes > w.size/2
}

// ask makes the subject of a request.
func (w *window) ask(n names) string {
	w.count++
	w.asked, w.id = w.bytes, fmt.Sprintf("%s%s.%s.%04d", flowPrefix, n.stream, n.consumer, w.count)
	return w.id
}

// answered takes the client's answer to the last request: it has processed all that was sent before it.
func (w *window) answered(id string) bool {
	if w.id == "" || id != w.id {
		return false
	}
	w.size = min(2*w.size, mostWindow)
	w.bytes -= w.asked
	w.asked, w.id = 0, ""
	return true
}

// stalled is the header of a heartbeat while an answer is awaited.
func (w *window) stalled() string {
	if w.id == "" {
		return ""
	}
	return "\r\nNats-Consumer-Stalled: " + w.id
}
