package main

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"brokerd/broker"
)

// startBroker runs a broker until the test ends and returns its Kafka address.
func startBroker(t *testing.T) string {
	t.Helper()
	return runBroker(t).KafkaAddr().String()
}

// runBroker runs a broker until the test ends.
func runBroker(t *testing.T) *broker.Broker {
	t.Helper()
	c := broker.Default()
	c.Data = t.TempDir()
	c.Kafka.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0"
	c.HTTP.Listen = "127.0.0.1:0"
	c.Group.InitialRebalanceDelay = 0
	b, err := broker.Open(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("broker: %v", err)
		}
	})
	select {
	case <-b.Ready():
	case err := <-ended:
		t.Fatalf("broker: %v", err)
	}
	return b
}
