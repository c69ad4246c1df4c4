package harness

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// readyLine is the log line that says where the broker listens.
type readyLine struct {
	Message string `json:"message"`
	Kafka   string `json:"kafka"`
	NATS    string `json:"nats"`
	HTTP    string `json:"http"`
}

// output collects what a broker prints and finds the ready line in it.
type output struct {
	ready chan readyLine // gets the first ready line

	mu    sync.Mutex
	text  bytes.Buffer // guarded by mu, like the two below
	line  []byte       // the unfinished last line
	found bool
}

func newOutput() *output { return &output{ready: make(chan readyLine, 1)} }

// Write implements io.Writer for the process's stdout and stderr.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if o.found {
		return len(p), nil
	}
	o.line = append(o.line, p...)
	for {
		line, rest, complete := bytes.Cut(o.line, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		o.line = rest
		var r readyLine
		if json.Unmarshal(line, &r) == nil && r.Kafka != "" && strings.Contains(r.Message, "ready") {
			o.found, o.line = true, nil
			o.ready <- r
			return len(p), nil
		}
	}
}

// String is everything so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
