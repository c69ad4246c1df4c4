package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const progressEach = 500 * time.Millisecond

// progress keeps one line of a terminal up to date while work goes on; on anything else it is silent.
type progress struct {
	w     io.Writer
	text  func() string
	stop  chan struct{}
	done  chan struct{}
	width int
}

// startProgress shows text() twice a second until finish. text is called from another goroutine.
func startProgress(w io.Writer, text func() string) *progress {
	p := &progress{w: w, text: text, stop: make(chan struct{}), done: make(chan struct{})}
	if !isTerminal(w) {
		close(p.done)
		return p
	}
	go p.run()
	return p
}

func (p *progress) run() {
	defer close(p.done)
	tick := time.NewTicker(progressEach)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			p.line("")
			fmt.Fprint(p.w, "\r")
			return
		case <-tick.C:
			p.line(p.text())
		}
	}
}

// line replaces what stands on the terminal's line.
func (p *progress) line(s string) {
	pad := max(0, p.width-len(s))
	p.width = len(s)
	fmt.Fprint(p.w, "\r"+s+strings.Repeat(" ", pad))
}

// finish wipes the line and returns when nothing more will be written. It may be called once.
func (p *progress) finish() {
	close(p.stop)
	<-p.done
}

// rate is bytes per second for people.
func rate(n int64, took time.Duration) string {
	return fmt.Sprintf("%.1f MB/s", float64(n)/1e6/max(took.Seconds(), 1e-9))
}
