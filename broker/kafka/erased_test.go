package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/topic"
)

// erase deletes single records of partition 0.
func erase(t *testing.T, from *topic.Topic, offsets ...int64) {
	t.Helper()
	p, err := from.Partition(0)
	if err == nil {
		err = p.Erase(offsets, true)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fetchAll reads partition 0 as a client does: from the offset behind the last batch that it got.
func (c *client) fetchAll(from *topic.Topic) (values []string, end int64) {
	c.t.Helper()
	for {
		p := ask[*kmsg.FetchResponse](c, fetchFrom(12, from, end)).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			c.t.Fatalf("fetch %d: error %d", end, p.ErrorCode)
		}
		if len(p.RecordBatches) == 0 {
			return values, end
		}
		values = append(values, valuesOf(c.t, p.RecordBatches)...)
		for rest := p.RecordBatches; len(rest) > 0; {
			var b log.Batch
			var err error
			if b, rest, err = log.ParseBatch(rest); err != nil {
				c.t.Fatal(err)
			}
			end = b.LastOffset() + 1
		}
	}
}

func TestFetchLeavesOutErasedRecords(t *testing.T) {
	tests := []struct {
		name   string
		erased []int64
		want   string
	}{
		{"none", nil, "0123456789"},
		{"inside batches", []int64{1, 4, 8}, "0235679"},
		{"a whole batch", []int64{3, 4, 5}, "0126789"},
		{"the first batch", []int64{0, 1, 2}, "3456789"},
		{"the end", []int64{8, 9}, "01234567"},
		{"the last batch", []int64{9}, "012345678"},
		{"all", []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, ""},
	}
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	for i, tt := range tests {
		for codec := range log.Zstd + 1 {
			from := ts.create(fmt.Sprintf("t-%d-%d", i, codec), 1, nil)
			for first := 0; first < 10; first += 3 {
				b := log.Builder{Codec: codec}
				for v := first; v < min(first+3, 10); v++ {
					b.Add(log.Record{Timestamp: 1000, Value: fmt.Append(nil, v)})
				}
				c.produce(from, 0, built(t, &b))
			}
			erase(t, from, tt.erased...)
			values, end := c.fetchAll(from)
			if got := strings.Join(values, ""); got != tt.want || end != 10 {
				t.Errorf("%s, %v: read %q up to %d, want %q", tt.name, codec, got, end, tt.want)
			}
		}
	}
}

// TestFetchLeavesOutErasedRecordsOfLargeRuns has so many records that most go by sendfile.
func TestFetchLeavesOutErasedRecordsOfLargeRuns(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	from := ts.create("t", 1, nil)
	var want []string
	var erased []int64
	for i := range int64(600) {
		v := fmt.Sprintf("%03d%s", i, strings.Repeat("x", 1000))
		c.produce(from, 0, batchOf(t, v, v))
		if i == 300 || i > 400 && i%7 == 0 {
			erased = append(erased, 2*i+1)
			want = append(want, v)
			continue
		}
		want = append(want, v, v)
	}
	erase(t, from, erased...)
	values, end := c.fetchAll(from)
	if !slices.Equal(values, want) || end != 1200 {
		t.Errorf("read %d records up to %d, want %d", len(values), end, len(want))
	}
}

// TestFranzReadsPastErasedRecords: a real client reads what is left, and is not held up by what is not.
func TestFranzReadsPastErasedRecords(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	from := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(from, 0, batchOf(t, "a", "b", "c"))
	c.produce(from, 0, batchOf(t, "d", "e"))
	erase(t, from, 1, 3, 4)
	cl := ts.franz(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var got []string
	read := func(until int) {
		for len(got) < until {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
			fetches.EachRecord(func(r *kgo.Record) { got = append(got, fmt.Sprint(r.Offset, string(r.Value))) })
		}
	}
	read(2)
	c.produce(from, 0, batchOf(t, "f"))
	read(3)
	if !slices.Equal(got, []string{"0a", "2c", "5f"}) {
		t.Errorf("read %q", got)
	}
	found, err := kadm.NewClient(ts.franz()).ListOffsetsAfterMilli(ctx, 1000, "t")
	if o, ok := found.Lookup("t", 0); err != nil || !ok || o.Offset != 0 {
		t.Errorf("first at 1000: %+v, %v", o, err)
	}
}

// TestOffsetsByTimeOfErasedRecords: no answer names a record that cannot be read.
func TestOffsetsByTimeOfErasedRecords(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	from := ts.create("t", 1, nil)
	c.produce(from, 0, timed(t, 2, 4, 6))
	c.produce(from, 0, timed(t, 8))
	erase(t, from, 1, 3)
	for time, want := range []int64{0, 0, 0, 2, 2, 2, 2, -1, -1, -1} {
		if got := askOffset(c, 7, "t", int64(time)); got.Offset != want || got.ErrorCode != 0 {
			t.Errorf("at %d: %+v, want offset %d", time, got, want)
		}
	}
	if got := askOffset(c, 7, "t", -3); got.Offset != 2 || got.Timestamp != 6 {
		t.Errorf("the newest: %+v", got)
	}
}

// TestTopicInMemoryIsOrdinary: Kafka clients need not know where a topic is kept.
func TestTopicInMemoryIsOrdinary(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	from, err := ts.topics.Create(topic.Spec{Name: "m", Partitions: 1, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	c := ts.dial()
	big := strings.Repeat("x", 200_000)
	c.produce(from, 0, batchOf(t, "a", big, "b"))
	erase(t, from, 2)
	if values, end := c.fetchAll(from); !slices.Equal(values, []string{"a", big}) || end != 3 {
		t.Errorf("read %d records up to %d", len(values), end)
	}
	adm := kadm.NewClient(ts.franz())
	configs, err := adm.DescribeTopicConfigs(ctx, "m")
	if err != nil || len(configs) != 1 || configs[0].Err != nil {
		t.Errorf("%+v, %v", configs, err)
	}
	if resp, err := adm.UpdatePartitions(ctx, 2, "m"); err != nil || resp.Error() != nil {
		t.Errorf("%+v, %v", resp, err)
	}
	if resp, err := adm.DeleteTopics(ctx, "m"); err != nil || resp.Error() != nil {
		t.Errorf("%+v, %v", resp, err)
	}
}
