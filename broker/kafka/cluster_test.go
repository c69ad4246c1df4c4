package kafka

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
)

// Requests that on a cluster move partitions about, and those that tools describe one with.

func TestDescribeLogDirs(t *testing.T) {
	dir := t.TempDir()
	ts := startBroker(t, vfs.OS{}, Options{FS: vfs.OS{}, Dir: dir})
	made := ts.create("t", 2, nil)
	ts.create("u", 1, nil)
	c := ts.dial()
	batch := batchOf(t, "a")
	c.produce(made, 1, batch)
	tests := []struct {
		topics []kmsg.DescribeLogDirsRequestTopic
		want   []string
	}{
		{nil, []string{"t 0 0", fmt.Sprint("t 1 ", len(batch)), "u 0 0"}},
		{[]kmsg.DescribeLogDirsRequestTopic{}, nil},
		{[]kmsg.DescribeLogDirsRequestTopic{
			{Topic: "u", Partitions: []int32{0, 4}}, {Topic: "nowhere", Partitions: []int32{0}},
			{Topic: "u", Partitions: []int32{0}},
		}, []string{"u 0 0"}},
	}
	for version := int16(1); version <= 4; version++ {
		for _, test := range tests {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Version, req.Topics = version, test.topics
			resp := ask[*kmsg.DescribeLogDirsResponse](c, req)
			if len(resp.Dirs) != 1 || resp.Dirs[0].Dir != dir || resp.Dirs[0].ErrorCode != 0 {
				t.Fatalf("version %d: %+v", version, resp)
			}
			d := resp.Dirs[0]
			if known := d.TotalBytes > 0 && d.UsableBytes > 0 && d.UsableBytes <= d.TotalBytes; known != (version >= 4) {
				t.Errorf("version %d: %d of %d bytes", version, d.UsableBytes, d.TotalBytes)
			}
			var got []string
			for _, dt := range d.Topics {
				for _, p := range dt.Partitions {
					got = append(got, fmt.Sprint(dt.Topic, " ", p.Partition, " ", p.Size))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("version %d: %q, want %q", version, got, test.want)
			}
		}
	}
}

func TestAlterReplicaLogDirs(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{Dir: "/data"})
	ts.create("t", 1, nil)
	c := ts.dial()
	for version := int16(1); version <= 2; version++ {
		for _, test := range []struct {
			dir, topic string
			code       int16
		}{
			{"/data", "t", codeNone}, {"/data", "nowhere", codeReplicaNotAvailable}, {"/elsewhere", "t", codeLogDirNotFound},
		} {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			req.Version = version
			req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{Dir: test.dir, Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{
				{Topic: test.topic, Partitions: []int32{0}},
			}}}
			got := ask[*kmsg.AlterReplicaLogDirsResponse](c, req).Topics[0]
			if got.Topic != test.topic || got.Partitions[0].ErrorCode != test.code {
				t.Errorf("%+v: %+v", test, got)
			}
		}
	}
}

func TestAlterPartitionReassignments(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 1})
	ts.create("t", 1, nil)
	c := ts.dial()
	for version := int16(0); version <= 1; version++ {
		for _, test := range []struct {
			topic     string
			partition int32
			replicas  []int32
			code      int16
		}{
			{"t", 0, []int32{1}, codeNone}, {"t", 0, nil, codeNoReassignmentInProgress},
			{"t", 0, []int32{}, codeInvalidReplicaAssignment}, {"t", 0, []int32{2}, codeInvalidReplicaAssignment},
			{"t", 0, []int32{1, 2}, codeInvalidReplicaAssignment}, {"t", 0, []int32{1, 1}, codeInvalidReplicaAssignment},
			{"t", 1, []int32{1}, codeUnknownTopicOrPartition}, {"nowhere", 0, nil, codeUnknownTopicOrPartition},
		} {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.Version = version
			req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
				Topic: test.topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
					{Partition: test.partition, Replicas: test.replicas},
				},
			}}
			resp := ask[*kmsg.AlterPartitionAssignmentsResponse](c, req)
			p := resp.Topics[0].Partitions[0]
			if resp.ErrorCode != 0 || p.ErrorCode != test.code || (p.ErrorMessage == nil) != (test.code == 0) {
				t.Errorf("%+v: %+v", test, resp)
			}
		}
	}
}

func TestElectLeaders(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	ts.create("t", 1, nil)
	c := ts.dial()
	for version := int16(0); version <= 2; version++ {
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version = version
		if resp := ask[*kmsg.ElectLeadersResponse](c, req); resp.ErrorCode != 0 || len(resp.Topics) != 0 {
			t.Errorf("version %d, all: %+v", version, resp)
		}
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
		got := ask[*kmsg.ElectLeadersResponse](c, req).Topics[0].Partitions
		if got[0].ErrorCode != codeElectionNotNeeded || got[1].ErrorCode != codeUnknownTopicOrPartition {
			t.Errorf("version %d: %+v", version, got)
		}
		req.ElectionType = 7
		if resp := ask[*kmsg.ElectLeadersResponse](c, req); version >= 1 && resp.ErrorCode != codeInvalidRequest {
			t.Errorf("version %d, unknown kind: %+v", version, resp)
		}
	}
}

func TestDescribeProducers(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	made := ts.create("t", 2, nil)
	c := ts.dial()
	b := log.Builder{Idempotent: true, ProducerID: 7, ProducerEpoch: 3, BaseSequence: 10}
	for _, v := range []string{"a", "b"} {
		b.Add(log.Record{Timestamp: 1000, Value: []byte(v)})
	}
	c.produce(made, 1, built(t, &b))
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: "t", Partitions: []int32{0, 1, 1, 2}}, {Topic: "nowhere", Partitions: []int32{0}},
	}
	resp := ask[*kmsg.DescribeProducersResponse](c, req)
	got := resp.Topics[0].Partitions
	if len(got) != 3 || got[0].ErrorCode != 0 || len(got[0].ActiveProducers) != 0 ||
		got[2].ErrorCode != codeUnknownTopicOrPartition ||
		resp.Topics[1].Partitions[0].ErrorCode != codeUnknownTopicOrPartition {
		t.Fatalf("%+v", resp)
	}
	a := got[1].ActiveProducers
	if len(a) != 1 || a[0].ProducerID != 7 || a[0].ProducerEpoch != 3 || a[0].LastSequence != 11 ||
		a[0].LastTimestamp <= 0 || a[0].CurrentTxnStartOffset != -1 || a[0].CoordinatorEpoch != -1 {
		t.Errorf("%+v", a)
	}
}

func TestListConfigResources(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 5})
	ts.create("t", 1, nil)
	ts.create("u", 1, nil)
	c := ts.dial()
	const topics, brokers, loggers, metrics, groups = 2, 4, 8, 16, 32
	for _, test := range []struct {
		version int16
		kinds   []int8
		want    []string
		code    int16
	}{
		{0, nil, nil, codeNone},
		{1, nil, []string{"2 t", "2 u", "4 5"}, codeNone},
		{1, []int8{brokers}, []string{"4 5"}, codeNone},
		{1, []int8{topics, topics}, []string{"2 t", "2 u"}, codeNone},
		{1, []int8{loggers, metrics, groups}, nil, codeNone},
		{1, []int8{topics, 3}, nil, codeUnsupportedVersion},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = test.version, test.kinds
		resp := ask[*kmsg.ListConfigResourcesResponse](c, req)
		var got []string
		for _, r := range resp.ConfigResources {
			got = append(got, fmt.Sprint(r.Type, " ", r.Name))
		}
		if resp.ErrorCode != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%+v: error %d, %q", test, resp.ErrorCode, got)
		}
	}
}

// pageOf describes an answer: partitions as topic/first-last, errors as topic!code, then the cursor.
func pageOf(resp *kmsg.DescribeTopicPartitionsResponse) (page []string) {
	for _, t := range resp.Topics {
		switch n := len(t.Partitions); {
		case t.ErrorCode != 0:
			page = append(page, fmt.Sprintf("%s!%d", *t.Topic, t.ErrorCode))
		case n == 0:
			page = append(page, *t.Topic+"/")
		default:
			page = append(page, fmt.Sprintf("%s/%d-%d", *t.Topic, t.Partitions[0].Partition, t.Partitions[n-1].Partition))
		}
	}
	if at := resp.NextCursor; at != nil {
		page = append(page, fmt.Sprintf("next %s/%d", at.Topic, at.Partition))
	}
	return page
}

func TestDescribeTopicPartitions(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 5})
	made := ts.create("a", 3, nil)
	ts.create("c", 2, nil)
	ts.create("d", 1, nil)
	c := ts.dial()
	type at = kmsg.DescribeTopicPartitionsRequestCursor
	for _, test := range []struct {
		topics []string
		limit  int32
		from   *at
		want   []string
	}{
		{nil, 2000, nil, []string{"a/0-2", "c/0-1", "d/0-0"}},
		{nil, 2, nil, []string{"a/0-1", "next a/2"}},
		{nil, 2, &at{Topic: "a", Partition: 2}, []string{"a/2-2", "c/0-0", "next c/1"}},
		{nil, 2, &at{Topic: "c", Partition: 1}, []string{"c/1-1", "d/0-0"}},
		{nil, 3, nil, []string{"a/0-2", "next c/0"}},
		{nil, 3, &at{Topic: "b"}, []string{"c/0-1", "d/0-0"}}, // deleted since the last page
		{nil, 3, &at{Topic: "d", Partition: 9}, []string{"d/"}},
		{nil, 3, &at{Topic: "z"}, nil},
		{nil, 0, nil, []string{"a/0-0", "next a/1"}},
		{nil, -4, nil, []string{"a/0-0", "next a/1"}},
		{[]string{"d", "b", "a", "d"}, 2000, nil, []string{"a/0-2", "b!3", "d/0-0"}},
		{[]string{"d", "a"}, 3, nil, []string{"a/0-2", "next d/0"}},
		{[]string{"a"}, 3, &at{Topic: "a", Partition: -1}, []string{"a!42"}},
	} {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit, req.Cursor = test.limit, test.from
		for _, name := range test.topics {
			req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, req)
		if got := pageOf(resp); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q", test, got)
		}
		if len(test.want) > 0 && test.want[0] == "a/0-2" {
			first := resp.Topics[0]
			if p := first.Partitions[1]; first.TopicID != made.ID() || p.LeaderID != 5 || !slices.Equal(p.ISR, []int32{5}) ||
				!slices.Equal(p.Replicas, []int32{5}) {
				t.Errorf("%+v", first)
			}
		}
	}
}

// TestPageIsBounded: no answer has more than maxPage partitions, whatever the client wants.
func TestPageIsBounded(t *testing.T) {
	ts := startBroker(t, memfs.New(), Options{})
	ts.create("t", maxPage+1, nil)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 1 << 30
	want := []string{fmt.Sprintf("t/0-%d", maxPage-1), fmt.Sprintf("next t/%d", maxPage)}
	if got := pageOf(ask[*kmsg.DescribeTopicPartitionsResponse](ts.dial(), req)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
