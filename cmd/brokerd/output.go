package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// printJSON writes v as one line of JSON, without HTML escapes.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table is rows of text under headings. A heading that starts with '>' aligns its column to the right, for numbers.
type table struct {
	headings []string
	right    []bool
	rows     [][]string
}

func newTable(headings ...string) *table {
	t := &table{}
	for _, h := range headings {
		name, right := strings.CutPrefix(h, ">")
		t.headings = append(t.headings, name)
		t.right = append(t.right, right)
	}
	return t
}

// add appends one row: as many cells as there are headings.
func (t *table) add(cells ...any) {
	row := make([]string, len(t.headings))
	for i := range row {
		row[i] = fmt.Sprint(cells[i])
	}
	t.rows = append(t.rows, row)
}

// print writes the table with its columns lined up and two spaces between them.
func (t *table) print(w io.Writer) error {
	width := make([]int, len(t.headings))
	lines := append([][]string{t.headings}, t.rows...)
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var s strings.Builder
		for i, cell := range line {
			if i > 0 {
				s.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				s.WriteString(pad + cell)
			} else {
				s.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(s.String(), " "))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bytesText is a size for people: 1.5 MB is 1500000 bytes.
func bytesText(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n)/unit, "kMGTP"
	for v >= unit && len(units) > 1 {
		v, units = v/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %cB", v, units[0])
}

// plural is "1 record", "2 records".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// isTerminal says whether a person looks at (or types into) stream, which may be any reader or writer.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// orDash is a number, or "-" for one that is not known.
func orDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// text is an answer for people that is also one for machines.
type text interface{ print(w io.Writer) error }

// printEach prints what describe says about each name, an empty line between two, or a JSON object each. A name that
// fails does not keep the others from being printed.
func printEach[T text](w io.Writer, names []string, asJSON bool, describe func(name string) (T, error)) error {
	var failed []error
	for i, name := range names {
		t, err := describe(name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if asJSON {
			err = printJSON(w, t)
		} else {
			if i > 0 {
				fmt.Fprintln(w)
			}
			err = t.print(w)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
