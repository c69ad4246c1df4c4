package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"
)

// demoLedger is what was acknowledged while the broker was killed: offset to value.
type demoLedger struct {
	mu    sync.Mutex
	acked map[int64]string // guarded by mu
}

func (l *demoLedger) add(offset int64, value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[offset] = string(value)
}

func (l *demoLedger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// crash kills the broker while both doors publish, starts it again, and counts what is there.
func (d *demo) crash(ctx context.Context) error {
	d.say("\n4  Kill the broker (kill -9) while both doors publish, and start it again")
	d.late = time.Now()
	ledger := &demoLedger{acked: map[int64]string{}}
	publishing, finish := context.WithCancel(ctx)
	defer finish()
	var doors sync.WaitGroup
	doors.Go(func() { d.produceOn(publishing, ledger) })
	doors.Go(func() { d.publishOn(publishing, ledger) })
	for ledger.len() < 300 {
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("wait for acknowledgements: %w", err)
		}
	}
	pid := d.broker.pid()
	d.broker.kill()
	finish()
	if err := d.restart(ctx); err != nil {
		return err
	}
	doors.Wait() // Kafka's client does not give up what may be stored, until it is told
	end, err := d.end(ctx)
	if err != nil {
		return err
	}
	stored := map[int64]string{}
	if err := d.readEach(ctx, 0, end, func(r *kgo.Record) { stored[r.Offset] = string(r.Value) }); err != nil {
		return err
	}
	lost := 0
	for offset, value := range ledger.acked {
		if stored[offset] != value {
			lost++
		}
	}
	d.say("   process %d was killed; process %d was ready after %s", pid, d.broker.pid(), d.broker.took.Round(time.Millisecond))
	d.say("   %d publications were acknowledged meanwhile: %d are stored, %d are lost", len(ledger.acked), len(ledger.acked)-lost, lost)
	if lost > 0 {
		return fmt.Errorf("%d acknowledged publications are lost", lost)
	}
	return d.resume(ctx)
}

// restart starts the broker again, and waits until NATS has found it. Kafka's client looks by itself.
func (d *demo) restart(ctx context.Context) error {
	again, err := d.broker.again(ctx)
	if err != nil {
		return err
	}
	*d.broker = *again
	for !d.nats.IsConnected() {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// resume shows where the slow group goes on.
func (d *demo) resume(ctx context.Context) error {
	if err := pause(ctx, demoAckWait); err != nil {
		return err
	}
	d.held = d.held[:0]
	if err := d.readSlow(ctx, 1); err != nil {
		return err
	}
	about, err := d.held[0].Metadata()
	if err != nil {
		return err
	}
	d.say("   %s goes on with message %d, which it had not acknowledged, for the %s time", demoSlow, about.Sequence.Stream,
		map[bool]string{true: "first", false: "second"}[about.NumDelivered == 1])
	return d.held[0].DoubleAck(ctx)
}

// produceOn produces through Kafka until ctx ends.
func (d *demo) produceOn(ctx context.Context, ledger *demoLedger) {
	var answers sync.WaitGroup
	for ctx.Err() == nil {
		all, err := readings("/proc/meminfo")
		if err != nil {
			return
		}
		for _, r := range all {
			answers.Add(1)
			record := &kgo.Record{Topic: demoTopic, Key: []byte(r.name), Value: []byte(r.value)}
			d.kafka.Produce(ctx, record, func(r *kgo.Record, err error) {
				if err == nil {
					ledger.add(r.Offset, r.Value)
				}
				answers.Done()
			})
		}
		if pause(ctx, time.Millisecond) != nil {
			break
		}
	}
	answers.Wait()
}

// publishOn publishes through NATS until ctx ends.
func (d *demo) publishOn(ctx context.Context, ledger *demoLedger) {
	for ctx.Err() == nil {
		all, err := readings("/proc/vmstat")
		if err != nil {
			return
		}
		for _, r := range all {
			ack, err := d.js.Publish(ctx, demoTopic+"."+r.name, []byte(r.value))
			if err != nil {
				break
			}
			ledger.add(int64(ack.Sequence)-1, []byte(r.value))
		}
	}
}

// replay reads a range by offset through Kafka, and one by time through NATS.
func (d *demo) replay(ctx context.Context) error {
	d.say("\n5  Replay: from an offset through Kafka, from a time through NATS")
	const from = 100
	line := fmt.Sprintf("   from %d:", from)
	if err := d.readEach(ctx, from, from+3, func(r *kgo.Record) { line += fmt.Sprintf("  %s = %s", r.Key, r.Value) }); err != nil {
		return err
	}
	d.say("%s", line)
	consumer, err := d.js.OrderedConsumer(ctx, demoTopic, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &d.late,
	})
	if err != nil {
		return err
	}
	m, err := consumer.Next(jetstream.FetchContext(ctx))
	if err != nil {
		return err
	}
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	d.say("   from %s:  %d messages, the first on %s", d.late.Format("15:04:05.000"), about.NumPending+1, m.Subject())
	return nil
}

// readEach reads offsets from from up to to.
func (d *demo) readEach(ctx context.Context, from, to int64, f func(*kgo.Record)) error {
	reader, err := kgo.NewClient(kgo.SeedBrokers(d.broker.kafka), kgo.DisableClientMetrics(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{demoTopic: {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		return err
	}
	defer reader.Close()
	for at := from; at < to; {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < to {
				f(r)
			}
			at = r.Offset + 1
		})
	}
	return nil
}
