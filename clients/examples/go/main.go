// Command go shows the package clients/go: it publishes what it was built from, a line a message, reads it in a group, and
// replays a part of it. Kafka clients see the same lines in a topic of the same name.
//
//	go run ./clients/examples/go [-nats nats://127.0.0.1:4222]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

func main() {
	url := flag.String("nats", nats.DefaultURL, "the broker's NATS `address`")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, *url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	nc, err := nats.Connect(url, nats.Name("example"), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("lines-%d", os.Getpid())
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}})
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, *nats.Conn, string) error{publish, consume, replay} {
		if err := step(ctx, nc, name); err != nil {
			return err
		}
	}
	return js.DeleteStream(ctx, name)
}

// publish keeps at most 16 lines on their way; each is on the broker's disk when it is acknowledged.
func publish(ctx context.Context, nc *nats.Conn, name string) error {
	p, err := client.NewProducer(nc, client.ProducerConfig{MaxMessages: 16})
	if err != nil {
		return err
	}
	about, _ := debug.ReadBuildInfo()
	n := 0
	for line := range strings.Lines(about.String()) { // "dep", a module, its version and hash; and such
		m := &nats.Msg{Subject: name + "." + strings.Fields(line)[0], Data: []byte(line)}
		if _, err := p.Publish(ctx, m); err != nil {
			return err
		}
		n++
	}
	if err := p.Close(ctx); err != nil { // waits for all answers
		return err
	}
	fmt.Printf("published %d lines about this program\n", n)
	return nil
}

// consume reads the modules: it acknowledges one alone, gives one back for a moment, and the rest with one call.
func consume(ctx context.Context, nc *nats.Conn, name string) error {
	g, err := client.JoinGroup(ctx, nc, client.GroupConfig{Stream: name, Group: "readers", Subjects: []string{name + ".dep"}})
	if err != nil {
		return err
	}
	first, err := g.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("offset %d: %s", first.Offset(), first.Data)
	if err := first.Ack(ctx); err != nil {
		return err
	}
	second, err := g.Next(ctx)
	if err != nil {
		return err
	}
	if err := second.Retry(100 * time.Millisecond); err != nil {
		return err
	}
	last, again := second, false
	for last.Behind > 0 || !again { // until there is nothing after the last one, and the second came back
		m, err := g.Next(ctx)
		if err != nil {
			return err
		}
		if m.Attempt > 1 {
			fmt.Printf("offset %d, attempt %d: %s", m.Offset(), m.Attempt, m.Data)
			again = true
		} else {
			last = m
		}
	}
	if err := last.AckUpTo(ctx); err != nil {
		return err
	}
	fmt.Printf("acknowledged everything up to offset %d\n", last.Offset())
	return g.Drain(ctx)
}

// replay reads a range again, without a group.
func replay(ctx context.Context, nc *nats.Conn, name string) error {
	r, err := client.NewReader(ctx, nc, client.ReaderConfig{Stream: name, From: client.Offset(0), To: client.Offset(5)})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		record, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Printf("replay %d, %s: %s", record.Offset(), record.Subject, record.Data)
	}
}
