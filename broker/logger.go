package broker

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// NewLogger makes the logger of the process, which writes to f: for people on a terminal, as JSON otherwise, unless
// the settings say which.
func NewLogger(c LogConfig, f *os.File) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("log.level: %w", err)
	}
	var w io.Writer = f
	terminal := isatty.IsTerminal(f.Fd())
	if c.Format == "console" || c.Format == "auto" && terminal {
		w = zerolog.ConsoleWriter{Out: f, TimeFormat: time.TimeOnly, NoColor: !terminal}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}
