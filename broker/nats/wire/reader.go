package wire

import (
	"bytes"
	"io"
)

// Sizes of a reader's buffer. It begins small, since most connections are idle, and grows while reads fill it. A command
// that is larger takes what it needs, as its bytes arrive.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

// Limits bound what one command may take. The reader's memory stays below about twice their sum.
type Limits struct {
	Line    int // bytes of a line after its verb
	Payload int // bytes of a publication, with its header block
}

// Reader reads commands. It is for one goroutine.
type Reader struct {
	// ConnectFirst refuses every other command than CONNECT, before its arguments are read.
	ConnectFirst bool

	from   io.Reader
	limits Limits

	buffer     []byte
	start, end int // what is read and not yet consumed
	searched   int // so many bytes from start on hold no end of a line
	small      int // reads in a row that needed no such buffer
}

// NewReader makes a reader.
func NewReader(from io.Reader, limits Limits) *Reader {
	return &Reader{from: from, limits: limits, buffer: make([]byte, smallBuffer)}
}

// Next reads one command. After an error there is no more: one of this package's, or the connection's.
func (r *Reader) Next() (Command, error) {
	s, line, err := r.line()
	if err != nil {
		return Command{}, err
	}
	c, n, err := s.parse(r.args(s, line))
	if err != nil {
		return Command{}, err
	}
	if c.Verb != Publish {
		r.consume(line)
		return c, nil
	}
	if n.total > r.limits.Payload {
		return Command{}, ErrPayloadTooLarge
	}
	whole := line + n.total + len("\r\n")
	if r.end-r.start < whole {
		for r.end-r.start < whole {
			if err := r.fill(whole); err != nil {
				return Command{}, err
			}
		}
		c, _, _ = s.parse(r.args(s, line)) // as before, in memory that may be other
	}
	payload := r.buffer[r.start+line : r.start+whole]
	if payload[n.total] != '\r' || payload[n.total+1] != '\n' {
		return Command{}, ErrUnknown
	}
	if n.header > 0 {
		c.Header = payload[:n.header:n.header]
	}
	c.Data = payload[n.header:n.total:n.total]
	r.consume(whole)
	return c, nil
}

// line waits for a whole line. It returns its length, with its end, and the verb that it begins with.
func (r *Reader) line() (*spelling, int, error) {
	for {
		got := r.buffer[r.start:r.end]
		if len(got) > 0 && r.ConnectFirst && got[0]|0x20 != 'c' {
			return nil, 0, ErrConnectFirst
		}
		n := bytes.IndexByte(got[r.searched:], '\n')
		if n >= 0 {
			got = got[:r.searched+n+1]
		}
		r.searched = len(got)
		s, possible := recognize(got)
		switch {
		case !possible, s == nil && n >= 0:
			return nil, 0, ErrUnknown
		case s != nil && len(bytes.TrimRight(got[len(s.text):], "\r\n")) > r.limits.Line+1:
			return nil, 0, ErrLineTooLong // the one byte more is the blank
		case n >= 0:
			return s, len(got), nil
		}
		if err := r.fill(r.limits.Line); err != nil {
			return nil, 0, err
		}
	}
}

// args is what follows the verb in a line of n bytes.
func (r *Reader) args(s *spelling, n int) []byte {
	line := r.buffer[r.start : r.start+n-1]
	if last := len(line) - 1; line[last] == '\r' && last >= len(s.text) {
		line = line[:last]
	}
	return line[len(s.text):]
}

func (r *Reader) consume(n int) {
	r.start += n
	r.searched = 0
}

// fill reads at least one byte more of a command that has up to whole bytes.
func (r *Reader) fill(whole int) error {
	r.makeRoom(whole)
	for range 100 {
		room := r.buffer[r.end:]
		n, err := r.from.Read(room)
		r.end += n
		if n > 0 {
			r.judge(n, len(room))
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom makes sure that there is room behind what has been read.
func (r *Reader) makeRoom(whole int) {
	size := len(r.buffer)
	switch {
	case r.start == r.end:
		r.start, r.end = 0, 0
		switch {
		case size > largeBuffer:
			r.buffer = make([]byte, largeBuffer)
		case r.small >= 8 && size > smallBuffer:
			r.buffer, r.small = make([]byte, size/2), 0
		}
	case r.end < size:
	case r.start > 0:
		r.end = copy(r.buffer, r.buffer[r.start:r.end])
		r.start = 0
	default:
		grown := make([]byte, max(min(2*size, whole), size+smallBuffer))
		copy(grown, r.buffer)
		r.buffer = grown
	}
}

// judge adapts the buffer to a connection that had n bytes to give when there was room for more.
func (r *Reader) judge(n, room int) {
	switch size := len(r.buffer); {
	case n == room && room == size && size < largeBuffer:
		grown := make([]byte, 2*size)
		copy(grown, r.buffer[:r.end])
		r.buffer, r.small = grown, 0
	case n < size/4:
		r.small++
	default:
		r.small = 0
	}
}
