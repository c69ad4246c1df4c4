package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/topic"
)

// askOffset asks for one offset of partition 0.
func askOffset(c *client, version int16, name string, time int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = version
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = time
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
}

// timed makes a batch of one record of each time.
func timed(t *testing.T, times ...int64) log.Batch {
	t.Helper()
	var b log.Builder
	for _, ms := range times {
		b.Add(log.Record{Timestamp: ms, Value: []byte("v")})
	}
	return built(t, &b)
}

// TestOffsetsByTime: the answer is the first record at or after the time, however the records are batched.
func TestOffsetsByTime(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	in := func(name string, batches ...log.Batch) *topic.Topic {
		made := ts.create(name, 1, nil)
		for _, b := range batches {
			c.produce(made, 0, b)
		}
		return made
	}
	in("one", timed(t, 2, 4, 6, 8))
	in("four", timed(t, 2), timed(t, 4), timed(t, 6), timed(t, 8))
	in("shuffled", timed(t, 8, 2), timed(t, 6, 4))
	in("empty")
	trimmed, err := in("trimmed", timed(t, 2), timed(t, 4), timed(t, 6), timed(t, 8)).Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trimmed.Trim(2); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		topic string
		want  [10]int64 // by time
	}{
		{"one", [10]int64{0, 0, 0, 1, 1, 2, 2, 3, 3, -1}},
		{"four", [10]int64{0, 0, 0, 1, 1, 2, 2, 3, 3, -1}},
		{"shuffled", [10]int64{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}},
		{"empty", [10]int64{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}},
		{"trimmed", [10]int64{2, 2, 2, 2, 2, 2, 2, 3, 3, -1}},
	}
	for _, test := range tests {
		for time, want := range test.want {
			got := askOffset(c, 4, test.topic, int64(time))
			if got.ErrorCode != 0 || got.Offset != want || (want == -1) != (got.Timestamp == -1) {
				t.Errorf("%s at %d: offset %d, time %d, error %d, want offset %d", test.topic, time, got.Offset, got.Timestamp,
					got.ErrorCode, want)
			}
		}
	}
}

func TestSpecialOffsets(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	made := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(made, 0, timed(t, 5, 9, 7))
	if p, err := made.Partition(0); err != nil {
		t.Fatal(err)
	} else if _, err := p.Trim(1); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		time    int64
		version int16
		offset  int64
		code    int16
	}{
		{askLatest, 1, 3, codeNone}, {askLatest, 10, 3, codeNone}, {askEarliest, 1, 1, codeNone},
		{askMaxTime, 6, -1, codeUnsupportedVersion}, {askMaxTime, 7, 1, codeNone},
		{askEarliestLocal, 7, -1, codeUnsupportedVersion}, {askEarliestLocal, 8, 1, codeNone},
		{askLatestTiered, 8, -1, codeUnsupportedVersion}, {askLatestTiered, 9, -1, codeNone},
		{askEarliestToTier, 10, -1, codeUnsupportedVersion}, {askEarliestToTier, 11, -1, codeNone},
		{-7, 11, -1, codeUnsupportedVersion},
	}
	for _, test := range tests {
		got := askOffset(c, test.version, "t", test.time)
		if got.Offset != test.offset || got.ErrorCode != test.code {
			t.Errorf("time %d, version %d: offset %d, error %d, want %d, %d", test.time, test.version, got.Offset, got.ErrorCode,
				test.offset, test.code)
		}
	}
	if got := askOffset(c, 7, "t", askMaxTime); got.Timestamp != 9 {
		t.Errorf("the largest time is %d, want 9", got.Timestamp)
	}
	if got := askOffset(c, 7, "nowhere", askLatest); got.ErrorCode != codeUnknownTopicOrPartition {
		t.Errorf("unknown topic: error %d", got.ErrorCode)
	}
}

func TestEpochs(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	made := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(made, 0, timed(t, 1, 2, 3))
	p, _ := made.Partition(0)
	tests := []struct {
		current, epoch int32
		end            int64
		wantEpoch      int32
		code           int16
	}{
		{-1, p.Epoch(), 3, p.Epoch(), codeNone},
		{p.Epoch(), p.Epoch(), 3, p.Epoch(), codeNone},
		{-1, p.Epoch() + 5, -1, -1, codeNone},
		{p.Epoch() + 1, p.Epoch(), -1, -1, codeUnknownLeaderEpoch},
	}
	for version := int16(2); version <= 4; version++ {
		for _, test := range tests {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version = version
			q := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			q.CurrentLeaderEpoch, q.LeaderEpoch = test.current, test.epoch
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{
				Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{q},
			}}
			got := ask[*kmsg.OffsetForLeaderEpochResponse](c, req).Topics[0].Partitions[0]
			if got.EndOffset != test.end || got.LeaderEpoch != test.wantEpoch || got.ErrorCode != test.code {
				t.Errorf("version %d, %+v: got %+v", version, test, got)
			}
		}
	}
}
