package tests

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// fastRetention makes the broker look for expired segments all the time.
const fastRetention = "BROKERD_TOPIC_RETENTION_CHECK=200ms"

// C16: clients read at, and below, the start of a log that retention or DeleteRecords has moved. The start is known and
// survives restarts; out of range concerns only the partition that is.
func TestC16LogStart(t *testing.T) {
	t.Parallel()
	const short, long, group = "c16-short", "c16-long", "c16"
	s := start(t, options(t, fastRetention))
	cl := client(t, s)
	create(t, cl, short, 1, settings{"retention.ms": "1500", "segment.ms": "300"})
	create(t, cl, long, 1, nil)
	ledger, m := harness.NewLedger(), newMaker(16)
	publish(t, cl, harness.NewLedger(), m.records(short, 0, 50, 100)...)
	publish(t, cl, ledger, m.records(long, 0, 50, 100)...)
	commit(t, cl, group, kadm.Offset{Topic: short, At: 10}, kadm.Offset{Topic: long, At: 10})

	eventually(t, 30*time.Second, "the start passes the first 50 records", func() bool { return startOf(t, s, short) >= 50 })
	s = restart(t, s)
	if got := startOf(t, s, short); got != 50 {
		t.Errorf("the start is %d after a restart, want 50", got)
	}

	cl = client(t, s)
	alter(t, cl, short, "retention.ms", "604800000")
	publish(t, cl, ledger, m.records(short, 0, 50, 100)...)
	publish(t, cl, ledger, m.records(long, 0, 50, 100)...)
	boundary(t, s, short, long, 50, 100)
	verify(t, s, ledger, short, long)
	groupBelowStart(t, s, group, map[string]int64{short: 50, long: 10}, 100)

	trim(t, dial(t, s), short, 77)
	ledger.Forget(func(p harness.Position) bool { return p.Topic == short && p.Offset < 77 })
	boundary(t, s, short, long, 77, 100)
	s = restart(t, s)
	boundary(t, s, short, long, 77, 100)
	verify(t, s, ledger, short, long)
	kill(t, s)
	s = start(t, s.Again())
	boundary(t, s, short, long, 77, 100)
	verify(t, s, ledger, short, long)
}

// startOf asks for the first offset of partition 0.
func startOf(t *testing.T, s *harness.Server, topic string) int64 {
	t.Helper()
	return dial(t, s).listOffset(t, topic, 0, -2).Offset
}

// boundary fetches exactly at the start of a topic, one below, at the end and one above, each time together with a
// partition that is in order and must be served.
func boundary(t *testing.T, s *harness.Server, topic, healthy string, start, end int64) {
	t.Helper()
	w := dial(t, s)
	if got := w.listOffset(t, topic, 0, -2); got.ErrorCode != 0 || got.Offset != start {
		t.Errorf("the start is %d (error %d), want %d", got.Offset, got.ErrorCode, start)
	}
	for _, c := range []struct {
		offset int64
		want   error
	}{
		{start - 1, kerr.OffsetOutOfRange}, {start, nil}, {end, nil}, {end + 1, kerr.OffsetOutOfRange}, {-5, kerr.OffsetOutOfRange},
	} {
		answers := w.fetch(t, 1<<20, from{topic, 0, c.offset, 1 << 18}, from{healthy, 0, 0, 1 << 18})
		if got := kerr.ErrorForCode(answers[0].ErrorCode); !errors.Is(got, c.want) {
			t.Errorf("fetch at %d of [%d, %d): %v, want %v", c.offset, start, end, got, c.want)
		}
		if answers[0].LogStartOffset != start && c.want == nil {
			t.Errorf("fetch at %d says that the log starts at %d, want %d", c.offset, answers[0].LogStartOffset, start)
		}
		if answers[1].ErrorCode != 0 || len(batchesIn(t, answers[1].RecordBatches)) == 0 {
			t.Errorf("the other partition got error %d and %d bytes", answers[1].ErrorCode, len(answers[1].RecordBatches))
		}
	}
}

// groupBelowStart consumes in a group that committed below the start of one topic: it goes on at the start there and
// at the commit elsewhere.
func groupBelowStart(t *testing.T, s *harness.Server, group string, first map[string]int64, end int64) {
	t.Helper()
	ctx := limited(t, 30*time.Second)
	topics := []string{}
	for topic := range first {
		topics = append(topics, topic)
	}
	cl := client(t, s, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	seen := map[string]int64{}
	for done := 0; done < len(first); {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("the group read %v and got: %v", seen, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if _, begun := seen[r.Topic]; !begun && r.Offset != first[r.Topic] {
				t.Errorf("the group began %s at %d, want %d", r.Topic, r.Offset, first[r.Topic])
			}
			seen[r.Topic] = r.Offset
			if r.Offset == end-1 {
				done++
			}
		})
	}
	cl.Close()
}

// commit stores offsets of a group without a member.
func commit(t *testing.T, cl *kgo.Client, group string, offsets ...kadm.Offset) {
	t.Helper()
	all := kadm.Offsets{}
	for _, o := range offsets {
		o.LeaderEpoch = -1
		all.Add(o)
	}
	if err := kadm.NewClient(cl).CommitAllOffsets(limited(t, 30*time.Second), group, all); err != nil {
		t.Fatalf("commit offsets of %s: %v", group, err)
	}
}

// alter changes one setting of a topic.
func alter(t *testing.T, cl *kgo.Client, topic, name, value string) {
	t.Helper()
	resp, err := kadm.NewClient(cl).AlterTopicConfigs(limited(t, 30*time.Second),
		[]kadm.AlterConfig{{Name: name, Value: &value}}, topic)
	if err == nil {
		_, err = resp.On(topic, nil)
	}
	if err != nil {
		t.Fatalf("alter %s of %s: %v", name, topic, err)
	}
}
