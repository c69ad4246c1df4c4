package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

// orders makes a stream with three orders, for the examples.
func orders(ctx context.Context, name string) *nats.Conn {
	nc, err := nats.Connect(url(nil))
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}})
	check(err)
	for _, order := range []string{"3 apples", "1 pear", "2 plums"} {
		_, err = js.Publish(ctx, name+".eu", []byte(order))
		check(err)
	}
	return nc
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleProducer() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	nc := orders(ctx, "shop")
	defer nc.Close()

	p, err := client.NewProducer(nc, client.ProducerConfig{MaxMessages: 100})
	check(err)
	pending, err := p.Publish(ctx, &nats.Msg{Subject: "shop.eu", Data: []byte("5 figs")})
	held := (*client.HeldError)(nil)
	if errors.As(err, &held) {
		fmt.Println("no room:", held.By)
	}
	check(err)
	ack, err := pending.Wait(ctx) // or go on, and call Flush or Close in the end
	check(err)
	fmt.Println(ack.Stream, ack.Offset())
	check(p.Close(ctx))
	// Output: shop 3
}

func ExampleGroup() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	nc := orders(ctx, "bills")
	defer nc.Close()

	g, err := client.JoinGroup(ctx, nc, client.GroupConfig{Stream: "bills", Group: "billing"})
	check(err)
	for {
		m, err := g.Next(ctx)
		check(err)
		fmt.Printf("%d: %s\n", m.Offset(), m.Data)
		if m.Behind == 0 {
			check(m.AckUpTo(ctx)) // all three at once
			break
		}
	}
	check(g.Drain(ctx))
	// Output:
	// 0: 3 apples
	// 1: 1 pear
	// 2: 2 plums
}

func ExampleMessage_Retry() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	nc := orders(ctx, "retries")
	defer nc.Close()

	g, err := client.JoinGroup(ctx, nc, client.GroupConfig{Stream: "retries", Group: "billing", From: client.Offset(2)})
	check(err)
	for {
		m, err := g.Next(ctx)
		check(err)
		fmt.Printf("attempt %d: %s\n", m.Attempt, m.Data)
		if m.Attempt == 2 {
			check(m.Ack(ctx))
			break
		}
		check(m.Retry(10 * time.Millisecond)) // what it needs is not there yet
	}
	check(g.Drain(ctx))
	// Output:
	// attempt 1: 2 plums
	// attempt 2: 2 plums
}

func ExampleReader() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	nc := orders(ctx, "archive")
	defer nc.Close()

	r, err := client.NewReader(ctx, nc, client.ReaderConfig{Stream: "archive", From: client.Offset(1)})
	check(err)
	defer r.Close()
	for {
		record, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		check(err)
		fmt.Printf("%d %s: %s\n", record.Offset(), record.Subject, record.Data)
	}
	// Output:
	// 1 archive.eu: 1 pear
	// 2 archive.eu: 2 plums
}
