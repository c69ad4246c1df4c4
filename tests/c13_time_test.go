package tests

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// C13: an offset is looked up by time. The answer is the first record at or after that time, exact to the record and
// never below the start of the log; none is -1, -1.
func TestC13OffsetByTime(t *testing.T) {
	s := start(t, options(t))
	cl := client(t, s)
	layouts := []struct {
		topic   string
		times   []int64
		batches int
		want    [10]int64 // by the time asked for; [0] is the largest time of all
		trimmed [10]int64 // the same after the first two records were deleted
	}{
		{"c13-one-batch", []int64{2, 4, 6, 8}, 1,
			[10]int64{3, 0, 0, 1, 1, 2, 2, 3, 3, -1}, [10]int64{3, 2, 2, 2, 2, 2, 2, 3, 3, -1}},
		{"c13-four-batches", []int64{2, 4, 6, 8}, 4,
			[10]int64{3, 0, 0, 1, 1, 2, 2, 3, 3, -1}, [10]int64{3, 2, 2, 2, 2, 2, 2, 3, 3, -1}},
		{"c13-shuffled-batch", []int64{8, 2, 6, 4}, 1,
			[10]int64{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}, [10]int64{2, 2, 2, 2, 2, 2, 2, -1, -1, -1}},
		{"c13-shuffled", []int64{8, 2, 6, 4}, 4,
			[10]int64{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}, [10]int64{2, 2, 2, 2, 2, 2, 2, -1, -1, -1}},
		{"c13-same-times", []int64{5, 5, 5, 5}, 2,
			[10]int64{0, 0, 0, 0, 0, 0, -1, -1, -1, -1}, [10]int64{2, 2, 2, 2, 2, 2, -1, -1, -1, -1}},
		{"c13-empty", nil, 0,
			[10]int64{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, [10]int64{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
	}
	for _, l := range layouts {
		create(t, cl, l.topic, 1, nil)
		publishTimes(t, cl, l.topic, l.times, l.batches)
	}
	check := func(t *testing.T, s *harness.Server, after bool) {
		for _, l := range layouts {
			want := l.want
			if after {
				want = l.trimmed
			}
			checkTimes(t, s, l.topic, l.times, want)
		}
	}
	t.Run("whole", func(t *testing.T) { check(t, s, false) })
	s = restart(t, s)
	t.Run("restarted", func(t *testing.T) { check(t, s, false) })
	for _, l := range layouts {
		if l.batches > 0 {
			trim(t, dial(t, s), l.topic, 2)
		}
	}
	t.Run("trimmed", func(t *testing.T) { check(t, s, true) })
	s = restart(t, s)
	t.Run("trimmed-and-restarted", func(t *testing.T) { check(t, s, true) })
}

// publishTimes writes one record for each time, in so many batches of the same size.
func publishTimes(t *testing.T, cl *kgo.Client, topic string, times []int64, batches int) {
	t.Helper()
	for i := range batches {
		size := len(times) / batches
		var records []*kgo.Record
		for _, ms := range times[i*size : (i+1)*size] {
			records = append(records, &kgo.Record{Topic: topic, Timestamp: time.UnixMilli(ms), Value: []byte{byte(ms)}})
		}
		publishBatch(t, cl, records...)
	}
}

// checkTimes asks for the times 1 to 9, the largest time (want[0]), and one far in the future.
func checkTimes(t *testing.T, s *harness.Server, topic string, times []int64, want [10]int64) {
	t.Helper()
	w := dial(t, s)
	for ms, offset := range want {
		ask := int64(ms)
		if ms == 0 {
			ask = -3
		}
		got := w.listOffset(t, topic, 0, ask)
		timestamp := int64(-1)
		if offset >= 0 {
			timestamp = times[offset]
		}
		if got.ErrorCode != 0 || got.Offset != offset || got.Timestamp != timestamp {
			t.Errorf("%s: time %d gave error %d, offset %d, time %d; want offset %d, time %d",
				topic, ask, got.ErrorCode, got.Offset, got.Timestamp, offset, timestamp)
		}
	}
	future := time.Now().AddDate(1000, 0, 0).UnixMilli()
	if got := w.listOffset(t, topic, 0, future); got.ErrorCode != 0 || got.Offset != -1 || got.Timestamp != -1 {
		t.Errorf("%s: a time far in the future gave error %d, offset %d, time %d", topic, got.ErrorCode, got.Offset, got.Timestamp)
	}
}

// trim deletes the records of partition 0 below an offset.
func trim(t *testing.T, w *wire, topic string, offset int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{
		Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: offset}},
	}}
	got := w.ask(t, 2, req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	if got.ErrorCode != 0 || got.LowWatermark != offset {
		t.Fatalf("delete records of %s below %d: %v, low watermark %d", topic, offset, kerr.ErrorForCode(got.ErrorCode), got.LowWatermark)
	}
}
