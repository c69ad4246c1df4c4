package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// drainTimeout is how long an interrupted producer waits for the answers to what it has sent.
const drainTimeout = 10 * time.Second

// produceJob says what becomes of the lines.
type produceJob struct {
	topic     string
	partition int32  // -1: by key
	separator []byte // between key and value; nil: no keys
	headers   []kgo.RecordHeader
	maxLine   int
	blind     bool // nothing is acknowledged, so no offset is known
}

// record makes a record of one line.
func (j produceJob) record(line []byte) *kgo.Record {
	r := &kgo.Record{Topic: j.topic, Value: line, Headers: j.headers}
	if j.partition >= 0 {
		r.Partition = j.partition
	}
	if j.separator != nil {
		if key, value, ok := bytes.Cut(line, j.separator); ok {
			r.Key, r.Value = key, value
		}
	}
	return r
}

// produce sends every line of in and returns what was acknowledged. An error names the first line that was not; there
// may be one together with a summary.
func produce(ctx context.Context, cl *kgo.Client, job produceJob, in io.Reader, stderr io.Writer) (produceSummary, error) {
	began := time.Now()
	tally := newTally()
	if !isTerminal(in) {
		p := startProgress(stderr, func() string { return tally.progress(time.Since(began)) })
		defer p.finish()
	}

	// What was accepted is sent although ctx ends, for a while.
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, giveUp) })()

	accepted, err := feed(ctx, sending, cl, job, tally, in)
	_ = cl.Flush(sending) // each record's own outcome is in the tally
	sum := tally.summary(job, time.Since(began))
	switch line, cause := tally.failure(); {
	case cause != nil:
		return sum, fmt.Errorf("line %d was not acknowledged: %w; %d of the %d lines read were",
			line, refused(cause, ""), sum.Records, accepted)
	case errors.Is(err, context.Canceled):
		return sum, fmt.Errorf("interrupted after line %d; every line up to it is stored", accepted)
	case err != nil:
		return sum, fmt.Errorf("%w; every line before it is stored", err)
	}
	return sum, nil
}

// feed hands lines to the client until the input ends, a record fails or ctx is done, and returns how many it handed
// over. The goroutine that reads may stay behind in a Read that never returns, as one of a terminal.
func feed(ctx, sending context.Context, cl *kgo.Client, job produceJob, tally *tally, in io.Reader) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type part struct {
		lines [][]byte
		err   error
	}
	parts := make(chan part)
	go func() {
		r := newLineReader(in, job.maxLine)
		for {
			lines, err := r.part()
			select {
			case parts <- part{lines, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var accepted int64
	for {
		select {
		case <-ctx.Done():
			return accepted, ctx.Err()
		case <-tally.failed:
			return accepted, nil
		case p := <-parts:
			for _, line := range p.lines {
				if ctx.Err() != nil {
					return accepted, ctx.Err()
				}
				accepted++
				number := accepted
				cl.Produce(sending, job.record(line), func(r *kgo.Record, err error) { tally.add(number, r, err) })
			}
			if errors.Is(p.err, io.EOF) {
				return accepted, nil
			}
			if p.err != nil {
				return accepted, p.err
			}
		}
	}
}

// tally counts what the broker answered.
type tally struct {
	failed chan struct{} // closed at the first failure

	mu         sync.Mutex // guards what follows
	records    int64
	bytes      int64
	partitions map[int32]*partitionSummary
	line       int64 // first line not acknowledged; 0 for none
	cause      error
}

func newTally() *tally {
	return &tally{failed: make(chan struct{}), partitions: make(map[int32]*partitionSummary)}
}

// add is told of one record's outcome.
func (t *tally) add(line int64, r *kgo.Record, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if t.cause == nil {
			close(t.failed)
		}
		if t.cause == nil || line < t.line {
			t.line, t.cause = line, err
		}
		return
	}
	t.records++
	t.bytes += int64(len(r.Key) + len(r.Value))
	p := t.partitions[r.Partition]
	if p == nil {
		p = &partitionSummary{Partition: r.Partition, First: r.Offset, Last: r.Offset}
		t.partitions[r.Partition] = p
	}
	p.Records++
	p.First, p.Last = min(p.First, r.Offset), max(p.Last, r.Offset)
}

// failure is the first line that was not acknowledged, and why.
func (t *tally) failure() (line int64, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line, t.cause
}

func (t *tally) progress(took time.Duration) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%s acknowledged, %s, %s", plural(t.records, "record"), bytesText(t.bytes), rate(t.bytes, took))
}

func (t *tally) summary(job produceJob, took time.Duration) produceSummary {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := produceSummary{Topic: job.topic, Records: t.records, Bytes: t.bytes, Seconds: took.Seconds(),
		Partitions: []partitionSummary{}}
	for _, p := range t.partitions {
		if job.blind {
			p.First, p.Last = -1, -1
		}
		sum.Partitions = append(sum.Partitions, *p)
	}
	slices.SortFunc(sum.Partitions, func(a, b partitionSummary) int { return cmp.Compare(a.Partition, b.Partition) })
	return sum
}

// produceSummary is what `produce --json` prints.
type produceSummary struct {
	Topic      string             `json:"topic"`
	Records    int64              `json:"records"`
	Bytes      int64              `json:"bytes"` // of keys and values
	Seconds    float64            `json:"seconds"`
	Partitions []partitionSummary `json:"partitions"`
}

type partitionSummary struct {
	Partition int32 `json:"partition"`
	Records   int64 `json:"records"`
	First     int64 `json:"first"` // smallest offset; -1 when not acknowledged
	Last      int64 `json:"last"`
}

func (s produceSummary) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, s)
	}
	took := time.Duration(s.Seconds * float64(time.Second))
	_, err := fmt.Fprintf(w, "%s (%s) to %s of %s in %.2f s, %s\n", plural(s.Records, "record"), bytesText(s.Bytes),
		plural(int64(len(s.Partitions)), "partition"), s.Topic, s.Seconds, rate(s.Bytes, took))
	return err
}
