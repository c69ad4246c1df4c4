package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"
)

// demoTally counts what was acknowledged, and how long that took.
type demoTally struct {
	count int
	spent time.Duration
}

func (t demoTally) time() string { return t.spent.Round(time.Millisecond).String() }

// reading is one line of a file in /proc: a name and its value at this moment.
type reading struct{ name, value string }

// readings reads a file whose lines are names and values.
func readings(file string) ([]reading, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read this machine's events: %w", err)
	}
	defer f.Close()
	var all []reading
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, found := strings.Cut(lines.Text(), " "); found {
			all = append(all, reading{strings.TrimSuffix(name, ":"), strings.TrimSpace(value)})
		}
	}
	return all, lines.Err()
}

// sampleByKafka produces the present readings of /proc/meminfo, and waits until they are on disk.
func (d *demo) sampleByKafka(ctx context.Context, t *demoTally) error {
	all, err := readings("/proc/meminfo")
	if err != nil {
		return err
	}
	began := time.Now()
	var records []*kgo.Record
	for _, r := range all {
		records = append(records, &kgo.Record{Topic: demoTopic, Key: []byte(r.name), Value: []byte(r.value)})
	}
	if err := d.kafka.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	t.count += len(records)
	t.spent += time.Since(began)
	return nil
}

// sampleByNATS publishes the present readings of /proc/vmstat, and waits until they are on disk.
func (d *demo) sampleByNATS(ctx context.Context, t *demoTally) error {
	all, err := readings("/proc/vmstat")
	if err != nil {
		return err
	}
	began := time.Now()
	var sent []jetstream.PubAckFuture
	for _, r := range all {
		f, err := d.js.PublishMsgAsync(&nats.Msg{Subject: demoTopic + "." + r.name, Data: []byte(r.value)})
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		sent = append(sent, f)
	}
	for _, f := range sent {
		select {
		case <-f.Ok():
			t.count++
		case err := <-f.Err():
			return fmt.Errorf("publish: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.spent += time.Since(began)
	return nil
}
