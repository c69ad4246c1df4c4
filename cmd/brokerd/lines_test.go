package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func readLines(r *lineReader) (lines []string, err error) {
	for {
		part, err := r.part()
		for _, l := range part {
			lines = append(lines, string(l))
		}
		if err != nil {
			return lines, err
		}
	}
}

func TestLineReaderCutsAtNewlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.StringMatching(`[^\n]{0,10}`)).Draw(t, "lines")
		text := strings.Join(want, "\n")
		if len(want) > 0 && (want[len(want)-1] == "" || rapid.Bool().Draw(t, "newline at the end")) {
			text += "\n"
		}
		var in io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "byte by byte") {
			in = iotest.OneByteReader(in)
		}
		r := newLineReader(in, 40)
		got, err := readLines(r)
		if !errors.Is(err, io.EOF) || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) || r.read != int64(len(want)) {
			t.Fatalf("%q: got %q, %v, want %q", text, got, err, want)
		}
	})
}

func TestLineReaderBoundsLines(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 3*lineBuffer)
	in := append(append([]byte("short\n"), long...), "\nnever\n"...)

	got, err := readLines(newLineReader(bytes.NewReader(in), len(long)))
	if !errors.Is(err, io.EOF) || len(got) != 3 || got[1] != string(long) {
		t.Errorf("a line of the largest size: %d lines, %v", len(got), err)
	}
	got, err = readLines(newLineReader(bytes.NewReader(in), len(long)-1))
	if err == nil || !strings.Contains(err.Error(), "line 2 is longer than") || len(got) != 1 {
		t.Errorf("a line too long: %d lines, %v", len(got), err)
	}
}

func TestLineReaderDoesNotHoldLinesBack(t *testing.T) {
	in, typed := io.Pipe()
	defer in.Close()
	r := newLineReader(in, 100)
	go typed.Write([]byte("one\nhalf of tw"))
	if got, err := r.part(); err != nil || len(got) != 1 || string(got[0]) != "one" {
		t.Errorf("got %q, %v; want the complete line at once", got, err)
	}
	go func() {
		typed.Write([]byte("o\n"))
		typed.CloseWithError(errors.New("cable cut"))
	}()
	if got, err := readLines(r); err == nil || len(got) != 1 || got[0] != "half of two" || !strings.Contains(err.Error(), "line 3: cable cut") {
		t.Errorf("got %q, %v", got, err)
	}
}
