package tests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"

	"brokerd/tests/harness"
)

// C05: an emptied work queue goes on where it was after a kill, and so does its consumer.
func TestC05AnEmptiedStreamKeepsItsSequence(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	ctx := limited(t, 90*time.Second)
	createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Retention: jetstream.WorkQueuePolicy})
	c, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := js.Publish(ctx, "s", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := c.Fetch(10, jetstream.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for kills := range 3 {
		kill(t, s)
		s = start(t, s.Again())
		last := uint64(10 + kills)
		stream, err := js.Stream(ctx, "S")
		if err != nil {
			t.Fatal(err)
		}
		if got := stream.CachedInfo().State.LastSeq; got != last {
			t.Errorf("after kill %d the stream ends at %d, want %d", kills+1, got, last)
		}
		eventually(t, 20*time.Second, "what was acknowledged is gone", func() bool {
			info, err := stream.Info(ctx)
			return err == nil && info.State.Msgs == 0 && info.State.FirstSeq == last+1
		})
		ack, err := js.Publish(ctx, "s", []byte("next"))
		if err != nil || ack.Sequence != last+1 {
			t.Fatalf("the next message: %+v, %v", ack, err)
		}
		m, err := c.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err != nil {
			t.Fatalf("the next message does not arrive: %v", err)
		}
		if got := metadata(t, m).Sequence.Stream; got != ack.Sequence {
			t.Errorf("message %d arrived instead of %d", got, ack.Sequence)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// C05: what was answered survives a kill within 50 ms: streams and consumers that are created, altered and deleted, and
// topics and their settings.
func TestC05AnsweredDefinitionsSurvive(t *testing.T) {
	t.Parallel()
	kills := 30
	if testing.Short() {
		kills = 5
	}
	s := start(t, options(t))
	d := &definitions{streams: map[string]int64{}, consumers: map[string]time.Duration{}, topics: map[string]string{}}
	random := rand.New(rand.NewPCG(5, 5))
	for i := range kills {
		js, adm := jetStream(t, s), kadm.NewClient(client(t, s))
		for range 1 + random.IntN(4) {
			d.change(t, js, adm, random)
		}
		for range random.IntN(50) { // for as long as these take
			if _, err := js.AccountInfo(limited(t, 30*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		kill(t, s)
		s = start(t, s.Again())
		d.check(t, s)
		if t.Failed() {
			t.Fatalf("after kill %d of %d", i+1, kills)
		}
	}
}

// definitions is what was answered. A consumer is named STREAM/CONSUMER.
type definitions struct {
	next      int
	streams   map[string]int64         // max_msgs
	consumers map[string]time.Duration // ack_wait
	topics    map[string]string        // retention.ms
}

// change makes one change, and notes it when it is answered.
func (d *definitions) change(t *testing.T, js jetstream.JetStream, adm *kadm.Client, random *rand.Rand) {
	t.Helper()
	ctx := limited(t, 60*time.Second)
	d.next++
	limit := int64(d.next)
	name := fmt.Sprintf("S%d", d.next)
	config := func(name string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: []string{name}, MaxMsgs: limit}
	}
	known := slices.Sorted(maps.Keys(d.streams))
	var err error
	switch kind := random.IntN(6); {
	case kind == 0 || len(known) == 0:
		_, err = js.CreateStream(ctx, config(name))
		d.streams[name] = limit
	case kind == 1:
		name = known[random.IntN(len(known))]
		_, err = js.UpdateStream(ctx, config(name))
		d.streams[name] = limit
	case kind == 2:
		name = known[random.IntN(len(known))]
		err = js.DeleteStream(ctx, name)
		delete(d.streams, name)
		maps.DeleteFunc(d.consumers, func(c string, _ time.Duration) bool { return c == name+"/C" })
	case kind == 3:
		name = known[random.IntN(len(known))]
		wait := time.Duration(limit) * time.Second
		_, err = js.CreateOrUpdateConsumer(ctx, name, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait})
		d.consumers[name+"/C"] = wait
	case kind == 4:
		_, err = adm.CreateTopic(ctx, 1, 1, nil, "T"+name)
		d.topics["T"+name] = ""
	case len(d.topics) > 0:
		topic := slices.Sorted(maps.Keys(d.topics))[0]
		value := fmt.Sprint(100_000 + limit)
		_, err = adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &value}}, topic)
		d.topics[topic] = value
	}
	if err != nil {
		t.Fatalf("change %d: %v", d.next, err)
	}
}

// check compares what is there with what was answered.
func (d *definitions) check(t *testing.T, s *harness.Server) {
	t.Helper()
	ctx := limited(t, 60*time.Second)
	js, adm := jetStream(t, s), kadm.NewClient(client(t, s))
	for name, limit := range d.streams {
		stream, err := js.Stream(ctx, name)
		if err != nil || stream.CachedInfo().Config.MaxMsgs != limit {
			t.Errorf("stream %s, max_msgs %d: %v", name, limit, err)
			continue
		}
		d.checkConsumer(t, ctx, stream, name)
	}
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		if _, ok := d.streams[name]; !ok && d.topics[name] == "" {
			if _, topic := d.topics[name]; !topic {
				t.Errorf("stream %s is there, and should not be", name)
			}
		}
	}
	if names.Err() != nil {
		t.Error(names.Err())
	}
	for topic, want := range d.topics {
		configs, err := adm.DescribeTopicConfigs(ctx, topic)
		if err == nil {
			err = configs[0].Err
		}
		if err != nil {
			t.Errorf("topic %s: %v", topic, err)
			continue
		}
		for _, c := range configs[0].Configs {
			if want != "" && c.Key == "retention.ms" && c.MaybeValue() != want {
				t.Errorf("topic %s has retention.ms %s, want %s", topic, c.MaybeValue(), want)
			}
		}
	}
}

func (d *definitions) checkConsumer(t *testing.T, ctx context.Context, stream jetstream.Stream, name string) {
	t.Helper()
	c, err := stream.Consumer(ctx, "C")
	want, ok := d.consumers[name+"/C"]
	switch {
	case !ok && !errors.Is(err, jetstream.ErrConsumerNotFound):
		t.Errorf("stream %s has a consumer, and should not: %v", name, err)
	case ok && (err != nil || c.CachedInfo().Config.AckWait != want):
		t.Errorf("the consumer of stream %s, ack_wait %s: %v", name, want, err)
	}
}
