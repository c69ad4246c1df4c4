package tests

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// shortExpiry makes the broker forget producers that are silent for two seconds.
const shortExpiry = "BROKERD_TOPIC_PRODUCER_ID_EXPIRY=2s"

// C23: an idempotent producer sleeps for so long that the broker forgets its sequences. It goes on as if nothing had
// happened, also when retention deleted what it wrote, or the broker was restarted meanwhile; nothing is stored twice.
func TestC23ProducerIDExpires(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []string{"nothing", "trimmed", "restart", "kill"} {
		t.Run(meanwhile, func(t *testing.T) {
			t.Parallel()
			topic := "c23-" + meanwhile
			s := start(t, options(t, shortExpiry, fastRetention))
			sleeper := client(t, s, kgo.DefaultProduceTopic(topic))
			create(t, sleeper, topic, 1, nil)
			ledger, m := harness.NewLedger(), newMaker(23)
			publish(t, sleeper, ledger, m.records(topic, 0, 7, 100)...)
			if n := len(producers(t, sleeper, topic)); n != 1 {
				t.Fatalf("%d producers are known, want the one that has just written", n)
			}
			switch meanwhile {
			case "trimmed":
				trim(t, dial(t, s), topic, 7)
				ledger.Forget(func(p harness.Position) bool { return p.Offset < 7 })
			case "restart":
				s = restart(t, s)
			case "kill":
				kill(t, s)
				s = start(t, s.Again())
			}
			other := client(t, s)
			eventually(t, 30*time.Second, "the silent producer is forgotten", func() bool {
				return len(producers(t, other, topic)) == 0
			})
			publish(t, sleeper, ledger, m.records(topic, 0, 8, 100)...)
			read := verify(t, s, ledger, topic)
			report(t, harness.Duplicates(read, faultLimit))
			if last := read[len(read)-1].Offset; last != 14 {
				t.Errorf("the last record stands at %d, want 14", last)
			}
		})
	}
}

// C23: as long as a producer is known, a batch that it repeats is recognised and answered with its first offset, also
// after a restart.
func TestC23RepeatedBatch(t *testing.T) {
	t.Parallel()
	const topic = "c23-repeated"
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, topic, 1, nil)
	id := dial(t, s).ask(t, 4, kmsg.NewPtrInitProducerIDRequest()).(*kmsg.InitProducerIDResponse)
	if id.ErrorCode != 0 {
		t.Fatalf("a producer id was refused with error %d", id.ErrorCode)
	}
	var batches [][]byte
	for i := range 5 {
		batches = append(batches, sequenced(newBatch(0, nil, time.Now().UnixMilli(), fmt.Append(nil, i)), id.ProducerID, int32(i)))
	}
	for round, again := range []func(){nil, func() { s = restart(t, s) }, func() { kill(t, s); s = start(t, s.Again()) }} {
		if again != nil {
			again()
		}
		w := dial(t, s)
		for i, b := range batches {
			if got := w.produce(t, topic, 0, b); got.ErrorCode != 0 || got.BaseOffset != int64(i) {
				t.Errorf("round %d: batch %d got error %d, offset %d", round, i, got.ErrorCode, got.BaseOffset)
			}
		}
		if end := w.listOffset(t, topic, 0, -1).Offset; end != 5 {
			t.Errorf("round %d: the end is %d, want 5", round, end)
		}
	}
}

// sequenced makes a batch one of an idempotent producer.
func sequenced(b []byte, producer int64, sequence int32) []byte {
	const posProducerID, posProducerEpoch, posSequence = 43, 51, 53
	binary.BigEndian.PutUint64(b[posProducerID:], uint64(producer))
	binary.BigEndian.PutUint16(b[posProducerEpoch:], 0)
	binary.BigEndian.PutUint32(b[posSequence:], uint32(sequence))
	return sealBatch(b)
}

// producers are the idempotent producers that partition 0 of a topic knows.
func producers(t *testing.T, cl *kgo.Client, topic string) kadm.DescribedProducers {
	t.Helper()
	var set kadm.TopicsSet
	set.Add(topic, 0)
	all, err := kadm.NewClient(cl).DescribeProducers(limited(t, 30*time.Second), set)
	if err != nil {
		t.Fatalf("describe the producers of %s: %v", topic, err)
	}
	found := all[topic].Partitions[0]
	if found.Err != nil {
		t.Fatalf("describe the producers of %s: %v", topic, found.Err)
	}
	return found.ActiveProducers
}
