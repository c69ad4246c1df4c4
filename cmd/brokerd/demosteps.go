package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	demoTopic = "machine"
	demoFast  = "fast"
	demoSlow  = "slow"

	demoSamples = 10                     // of /proc, by each door
	demoPause   = 20 * time.Millisecond  // between them, and what the slow group takes for one message
	demoRead    = 12                     // messages that the slow group takes
	demoAckWait = 500 * time.Millisecond // for the slow group
)

// demo is the story: a broker, and a client of each protocol.
type demo struct {
	out    io.Writer
	broker *demoBroker
	kafka  *kgo.Client
	nats   *nats.Conn
	js     jetstream.JetStream
	slow   jetstream.Consumer
	held   []jetstream.Msg // what the slow group was given
	late   time.Time       // when the publishing began during which the broker is killed
}

// tell plays all parts in order.
func (d *demo) tell(ctx context.Context) error {
	if err := d.connect(); err != nil {
		return err
	}
	defer d.disconnect()
	for _, part := range []func(context.Context) error{d.publish, d.consume, d.acknowledge, d.crash, d.replay} {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		err := part(limited)
		cancel()
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

// connect makes the clients, which find the broker again after its restart.
func (d *demo) connect() (err error) {
	d.kafka, err = kgo.NewClient(kgo.SeedBrokers(d.broker.kafka), kgo.AllowAutoTopicCreation(), kgo.ClientID("demo"),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	d.nats, err = nats.Connect("nats://"+d.broker.nats, nats.Name("demo"), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	d.js, err = jetstream.New(d.nats)
	return err
}

func (d *demo) disconnect() {
	d.kafka.Close()
	if d.nats != nil {
		d.nats.Close()
	}
}

// publish has both doors write samples of /proc into one topic.
func (d *demo) publish(ctx context.Context) error {
	d.say("\n1  Publish what /proc says of this machine, through both doors, into the topic %q", demoTopic)
	admin := kadm.NewClient(d.kafka)
	if made, err := admin.CreateTopic(ctx, 1, 1, nil, demoTopic); err != nil {
		return errors.Join(err, made.Err)
	}
	var byKafka, byNATS demoTally
	for range demoSamples {
		if err := d.sampleByKafka(ctx, &byKafka); err != nil {
			return err
		}
		if err := d.sampleByNATS(ctx, &byNATS); err != nil {
			return err
		}
	}
	d.say("   Kafka %5d records of /proc/meminfo, on disk after %5s    key MemFree = subject %s.MemFree",
		byKafka.count, byKafka.time(), demoTopic)
	d.say("   NATS  %5d messages of /proc/vmstat, on disk after %5s    subject %s.pgfault = key pgfault",
		byNATS.count, byNATS.time(), demoTopic)
	return nil
}

// consume has a Kafka group read everything while a NATS consumer takes its time.
func (d *demo) consume(ctx context.Context) (err error) {
	d.say("\n2  Two groups read it: %q through Kafka, %q through NATS, with a pause after each message", demoFast, demoSlow)
	d.slow, err = d.js.CreateOrUpdateConsumer(ctx, demoTopic, jetstream.ConsumerConfig{
		Durable: demoSlow, AckPolicy: jetstream.AckExplicitPolicy, AckWait: demoAckWait,
	})
	if err != nil {
		return fmt.Errorf("make the group %s: %w", demoSlow, err)
	}
	end, err := d.end(ctx)
	if err != nil {
		return err
	}
	member, err := d.joinFast(ctx)
	if err != nil {
		return err
	}
	defer member.Close()
	began := time.Now()
	fast := make(chan error, 1)
	var took time.Duration
	go func() {
		err := readFast(ctx, member, end)
		took = time.Since(began)
		fast <- err
	}()
	slow := d.readSlow(ctx, demoRead)
	if err := errors.Join(<-fast, slow); err != nil {
		return err
	}
	info, err := d.slow.Info(ctx)
	if err != nil {
		return err
	}
	d.say("   %s   %5d of %d after %5s, lag 0", demoFast, end, end, took.Round(time.Millisecond))
	d.say("   %s   %5d of %d after %5s, lag %d: nobody waited for it", demoSlow, len(d.held), end,
		time.Since(began).Round(time.Millisecond), info.NumPending)
	return nil
}

// joinFast makes the only member of the fast group, and waits until it has the topic.
func (d *demo) joinFast(ctx context.Context) (*kgo.Client, error) {
	joined := make(chan struct{}, 1)
	member, err := kgo.NewClient(kgo.SeedBrokers(d.broker.kafka), kgo.ConsumerGroup(demoFast), kgo.ConsumeTopics(demoTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.DisableClientMetrics(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { joined <- struct{}{} }))
	if err != nil {
		return nil, err
	}
	select {
	case <-joined:
		return member, nil
	case <-ctx.Done():
		member.Close()
		return nil, ctx.Err()
	}
}

// readFast reads up to end, and commits.
func readFast(ctx context.Context, member *kgo.Client, end int64) error {
	for at := int64(0); at < end; {
		fetches := member.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) { at = r.Offset + 1 })
	}
	return member.CommitUncommittedOffsets(ctx)
}

// readSlow takes n messages, with a pause after each, and keeps them.
func (d *demo) readSlow(ctx context.Context, n int) error {
	batch, err := d.slow.Fetch(n, jetstream.FetchContext(ctx))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		d.held = append(d.held, m)
		if err := pause(ctx, demoPause); err != nil {
			return err
		}
	}
	return batch.Error()
}

// acknowledge shows that single messages are acknowledged, in any order.
func (d *demo) acknowledge(ctx context.Context) error {
	d.say("\n3  Acknowledge, one by one, in any order")
	for _, i := range []int{1, 2, 0} {
		if err := d.held[i].DoubleAck(ctx); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
		info, err := d.slow.Info(ctx)
		if err != nil {
			return err
		}
		d.say("   %s acknowledged message %d: everything up to %d is done, %d more are out",
			demoSlow, i+1, info.AckFloor.Stream, info.NumAckPending)
	}
	return nil
}

// end is the offset after the last record.
func (d *demo) end(ctx context.Context) (int64, error) {
	ends, err := kadm.NewClient(d.kafka).ListEndOffsets(ctx, demoTopic)
	if err != nil {
		return 0, err
	}
	at, _ := ends.Lookup(demoTopic, 0)
	return at.Offset, at.Err
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
