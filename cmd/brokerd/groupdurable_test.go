package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A durable consumer of NATS clients is a group: it is listed, described, moved and deleted like any other.
func TestDurableConsumersAreGroups(t *testing.T) {
	b := runBroker(t)
	s := tools{t, b.KafkaAddr().String()}
	nc, err := nats.Connect("nats://" + b.NATSAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := js.Publish(ctx, fmt.Sprintf("orders.%d", i), []byte("order")); err != nil {
			t.Fatal(err)
		}
	}
	c, err := js.CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(6)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range batch.Messages() {
		if n++; n <= 4 {
			if err := m.DoubleAck(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}

	listed := objects(t, s.ok("", "group", "list", "--json"))
	if len(listed) != 1 || listed[0]["group"] != "ORDERS/billing" || listed[0]["type"] != "durable" ||
		listed[0]["ack_floor"] != 4.0 || listed[0]["pending"] != 2.0 || listed[0]["lag"] != 6.0 {
		t.Errorf("list: %v", listed)
	}
	g := objects(t, s.ok("", "group", "describe", "ORDERS/billing", "--json"))[0]
	if g["type"] != "durable" || g["pending"] != 2.0 || g["lag"] != 6.0 || g["state"] != "Empty" {
		t.Errorf("describe: %v", g)
	}
	text := s.ok("", "group", "describe", "ORDERS/billing")
	for _, want := range []string{"type      durable", "pending   2 messages", "lag       6 records", "ORDERS          0          4   10    6"} {
		if !strings.Contains(text, want) {
			t.Errorf("describe has no %q:\n%s", want, text)
		}
	}
	s.ok("", "group", "reset", "ORDERS/billing", "--topic", "ORDERS", "--to-offset", "8")
	if i, err := c.Info(ctx); err != nil || i.AckFloor.Stream != 8 || i.NumPending != 2 || i.NumAckPending != 0 {
		t.Errorf("after the reset the consumer is %+v, %v", i, err)
	}
	_, errOut, code := s.run("", "consume", "ORDERS", "--group", "ORDERS/billing", "--count", "1")
	if code != exitFailure || !strings.Contains(errOut, "is a durable consumer of NATS clients") {
		t.Errorf("a Kafka consumer joins: %d %q", code, errOut)
	}
	if got := s.ok("", "group", "delete", "ORDERS/billing"); got != "deleted ORDERS/billing\n" {
		t.Errorf("delete: %q", got)
	}
	if _, err := js.Consumer(ctx, "ORDERS", "billing"); err != jetstream.ErrConsumerNotFound {
		t.Errorf("after the deletion: %v", err)
	}
}
