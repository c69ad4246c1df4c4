package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	lineBuffer   = 64 << 10
	linesPerPart = 512
)

// lineReader cuts its input into lines of bounded length. The last line needs no newline; empty lines are lines.
type lineReader struct {
	r    *bufio.Reader
	max  int   // longest line, in bytes
	read int64 // lines so far
}

func newLineReader(r io.Reader, maxLine int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, lineBuffer), max: maxLine}
}

// part waits for one line and returns it with those that are in memory already, so that nothing that was typed waits
// for what was not. Lines come without their newline and belong to the caller. With an error, io.EOF at the end, come
// the lines before it.
func (l *lineReader) part() ([][]byte, error) {
	var lines [][]byte
	for {
		line, err := l.line()
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
		ready, _ := l.r.Peek(l.r.Buffered())
		if len(lines) == linesPerPart || bytes.IndexByte(ready, '\n') < 0 {
			return lines, nil
		}
	}
}

// line reads one line into memory of its own.
func (l *lineReader) line() ([]byte, error) {
	var line []byte
	for {
		chunk, err := l.r.ReadSlice('\n')
		ended := err == nil
		if ended {
			chunk = chunk[:len(chunk)-1]
		}
		if len(line)+len(chunk) > l.max {
			return nil, fmt.Errorf("line %d is longer than %d bytes; raise --batch-bytes (and the topic's max.message.bytes) or split it",
				l.read+1, l.max)
		}
		line = append(line, chunk...)
		switch {
		case ended, errors.Is(err, io.EOF) && len(line) > 0:
			l.read++
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("read line %d: %w", l.read+1, err)
		}
	}
}
