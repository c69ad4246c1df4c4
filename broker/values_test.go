package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bytes
		bad  bool
	}{
		{text: "0"}, {text: "4096", want: 4096}, {text: "64KiB", want: 64 << 10}, {text: "256 MiB", want: 256 << 20},
		{text: "2GiB", want: 2 << 30}, {text: "", bad: true}, {text: "MiB", bad: true}, {text: "-1", bad: true},
		{text: "1.5GiB", bad: true}, {text: "1MB", bad: true}, {text: "9223372036854775807GiB", bad: true},
		{text: "99999999999999999999", bad: true},
	} {
		got, err := parseBytes(c.text)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: got %d, %v", c.text, got, err)
		}
	}
}

func TestLoggerForms(t *testing.T) {
	for _, c := range []struct {
		format, says string
	}{
		{"auto", `"topic":"a"`}, // a file is no terminal
		{"json", `"topic":"a"`},
		{"console", "topic=a"},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		l, err := NewLogger(LogConfig{Level: "warn", Format: c.format}, f)
		if err != nil {
			t.Fatal(err)
		}
		l.Info().Msg("not wanted")
		l.Warn().Str("topic", "a").Msg("wanted")
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b); strings.Count(got, "\n") != 1 || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", c.format, got)
		}
	}
}
