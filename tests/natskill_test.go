package tests

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brokerd/tests/harness"
)

// The broker is killed at random moments while 20 clients publish to a stream and three pull its messages. What was
// acknowledged is what is stored, once, under a sequence that nothing else ever had; what the broker confirmed as consumed is
// not delivered again.
func TestNATSKillLoop(t *testing.T) {
	const publishers, members = 20, 3
	kills := killCount(t)
	s := start(t, options(t))
	js := jetStream(t, s)
	createStream(t, js, jetstream.StreamConfig{Name: "K", Subjects: []string{"k.*"}, MaxBytes: -1})
	_, err := js.CreateConsumer(limited(t, 30*time.Second), "K", jetstream.ConsumerConfig{
		Durable: "C", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 500,
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &natsLedger{stored: map[uint64]string{}, confirmed: map[uint64]time.Time{}, faults: map[string]bool{}}
	stopping := make(chan struct{})
	var publishing, consuming sync.WaitGroup
	for id := range publishers {
		own := jetStream(t, s, nats.ReconnectBufSize(-1))
		publishing.Go(func() { l.publish(ctx, own, id, stopping) })
	}
	for range members {
		own := jetStream(t, s, nats.ReconnectBufSize(-1))
		consuming.Go(func() { l.consume(ctx, own) })
	}

	random := rand.New(rand.NewPCG(uint64(kills), 11))
	for i := range kills {
		before, enough := l.acked(), 50+random.IntN(800)
		eventually(t, 60*time.Second, "the publishers go on", func() bool { return l.acked() >= before+enough })
		highest := l.highest()
		kill(t, s)
		s = start(t, s.Again())
		l.checkEnd(t, s, highest)
		l.report(t)
		if t.Failed() {
			t.Fatalf("after kill %d of %d", i+1, kills)
		}
	}
	close(stopping)
	publishing.Wait()
	l.checkStored(t, s)
	// An acknowledgement whose confirmation was lost in a kill counts too: only the broker knows of those.
	consumer, err := jetStream(t, s).Consumer(limited(t, 2*time.Minute), "K", "C")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "everything is consumed", func() bool {
		info, err := consumer.Info(limited(t, 10*time.Second))
		return err == nil && info.NumPending == 0 && info.NumAckPending == 0
	})
	cancel()
	consuming.Wait()
	l.report(t)
	checkFloor(t, s, l.highest())
	t.Logf("%d kills: %d messages acknowledged, %d confirmed as consumed", kills, l.acked(), l.consumed())
}

// natsLedger is what the broker told its clients.
type natsLedger struct {
	mu        sync.Mutex
	stored    map[uint64]string    // sequence to data, as acknowledged; guarded by mu, like the fields below
	confirmed map[uint64]time.Time // when an acknowledgement of the sequence was confirmed
	faults    map[string]bool
}

func (l *natsLedger) acked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stored)
}

func (l *natsLedger) consumed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.confirmed)
}

func (l *natsLedger) highest() (sequence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.stored {
		sequence = max(sequence, s)
	}
	return sequence
}

func (l *natsLedger) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) < faultLimit {
		l.faults[fmt.Sprintf(format, args...)] = true
	}
}

func (l *natsLedger) report(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	report(t, slices.Sorted(maps.Keys(l.faults)))
}

// publish publishes message after message, each until it is acknowledged, under one id.
func (l *natsLedger) publish(ctx context.Context, js jetstream.JetStream, id int, stopping <-chan struct{}) {
	last := uint64(0)
	for i := 0; ; i++ {
		select {
		case <-stopping:
			return
		default:
		}
		data := fmt.Sprintf("%d-%d", id, i)
		ack := l.insist(ctx, js, fmt.Sprintf("k.%d", id), data)
		if ack == nil {
			return // the test is over
		}
		if ack.Sequence <= last {
			l.fault("publisher %d got sequence %d after %d", id, ack.Sequence, last)
		}
		last = ack.Sequence
		l.mu.Lock()
		other, twice := l.stored[ack.Sequence]
		l.stored[ack.Sequence] = data
		l.mu.Unlock()
		if twice {
			l.fault("%s and %s were both acknowledged as %d", other, data, ack.Sequence)
		}
	}
}

func (l *natsLedger) insist(ctx context.Context, js jetstream.JetStream, subject, data string) *jetstream.PubAck {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		ack, err := js.Publish(limited, subject, []byte(data), jetstream.WithMsgID(data))
		cancel()
		if err == nil {
			return ack
		}
		connected(ctx, js.Conn())
	}
	return nil
}

// connected waits until the client has a connection, or none will come any more.
func connected(ctx context.Context, nc *nats.Conn) {
	changed := nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(changed)
	if nc.IsConnected() || nc.IsClosed() {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// consume pulls and acknowledges, and waits for the confirmation of each acknowledgement.
func (l *natsLedger) consume(ctx context.Context, js jetstream.JetStream) {
	for ctx.Err() == nil {
		consumer, err := js.Consumer(ctx, "K", "C")
		if err != nil {
			connected(ctx, js.Conn())
			continue
		}
		asked := time.Now()
		batch, err := consumer.Fetch(50, jetstream.FetchMaxWait(500*time.Millisecond))
		if err != nil {
			continue
		}
		var confirming sync.WaitGroup // each waits for the disk, all at once
		for m := range batch.Messages() {
			confirming.Go(func() { l.take(ctx, m, asked) })
		}
		confirming.Wait()
	}
}

func (l *natsLedger) take(ctx context.Context, m jetstream.Msg, asked time.Time) {
	about, err := m.Metadata()
	if err != nil {
		l.fault("a message without metadata: %v", err)
		return
	}
	sequence := about.Sequence.Stream
	l.mu.Lock()
	confirmed, done := l.confirmed[sequence]
	l.mu.Unlock()
	if done && confirmed.Before(asked) {
		l.fault("message %d was delivered again after its acknowledgement was confirmed", sequence)
	}
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if m.DoubleAck(limited) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, done := l.confirmed[sequence]; !done {
		l.confirmed[sequence] = time.Now()
	}
}

// checkEnd makes sure that sequences do not go back over a restart.
func (l *natsLedger) checkEnd(t *testing.T, s *harness.Server, highest uint64) {
	t.Helper()
	stream, err := jetStream(t, s).Stream(limited(t, 30*time.Second), "K")
	if err != nil {
		t.Fatalf("the stream after a kill: %v", err)
	}
	if last := stream.CachedInfo().State.LastSeq; last < highest {
		t.Errorf("the stream ends at %d, and %d was acknowledged", last, highest)
	}
}

// checkStored compares what is stored with what was acknowledged.
func (l *natsLedger) checkStored(t *testing.T, s *harness.Server) {
	t.Helper()
	l.mu.Lock()
	missing := maps.Clone(l.stored)
	l.mu.Unlock()
	faults := 0
	for _, m := range messages(t, jetStream(t, s), "K") {
		sequence := metadata(t, m).Sequence.Stream
		if want, ok := missing[sequence]; (!ok || want != string(m.Data())) && faults < faultLimit {
			t.Errorf("message %d is %s; %q was acknowledged there", sequence, m.Data(), want)
			faults++
		}
		delete(missing, sequence)
	}
	if len(missing) > 0 {
		t.Errorf("%d acknowledged messages are not stored", len(missing))
	}
}

// checkFloor makes sure that the consumer has nothing left.
func checkFloor(t *testing.T, s *harness.Server, highest uint64) {
	t.Helper()
	consumer, err := jetStream(t, s).Consumer(limited(t, 30*time.Second), "K", "C")
	if err != nil {
		t.Fatal(err)
	}
	info := consumer.CachedInfo()
	if info.AckFloor.Stream != highest || info.NumAckPending != 0 || info.NumPending != 0 {
		t.Errorf("the consumer is at %d of %d, with %d out and %d to come",
			info.AckFloor.Stream, highest, info.NumAckPending, info.NumPending)
	}
}
