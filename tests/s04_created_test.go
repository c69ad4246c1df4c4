package tests

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// S4: what was created is there when it is asked for: partitions, whether assigned or not, and every setting of topics
// and of the broker.
func TestS04CreatedAndDescribed(t *testing.T) {
	t.Parallel()
	const topic = "s04"
	s := start(t, options(t))
	w := dial(t, s)
	value := "5000"
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 2, 1
	rt.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: &value}}
	req.Topics = []kmsg.CreateTopicsRequestTopic{rt}
	req.ValidateOnly = true
	if got := w.ask(t, 7, req).(*kmsg.CreateTopicsResponse).Topics[0]; got.ErrorCode != 0 || got.NumPartitions != 2 {
		t.Errorf("only validated: %+v", got)
	}
	req.ValidateOnly = false
	made := w.ask(t, 7, req).(*kmsg.CreateTopicsResponse).Topics[0]
	if made.ErrorCode != 0 || made.NumPartitions != 2 || made.ReplicationFactor != 1 || made.TopicID == [16]byte{} {
		t.Fatalf("created: %+v", made)
	}
	if made.TopicID != w.topicID(t, topic) {
		t.Errorf("the topic was created as %x, and is %x", made.TopicID, w.topicID(t, topic))
	}
	settings := described(t, w, topic)
	if len(made.Configs) != len(settings) || settings["retention.ms"] != value {
		t.Errorf("%d settings in the answer, %d described, retention.ms is %s", len(made.Configs), len(settings), settings["retention.ms"])
	}
	for _, c := range made.Configs {
		if c.Value == nil || *c.Value != settings[c.Name] {
			t.Errorf("created with %s = %v, described as %s", c.Name, c.Value, settings[c.Name])
		}
	}
	grow := func(total int32, validateOnly bool, nodes ...int32) int16 {
		t.Helper()
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.ValidateOnly = validateOnly
		rt := kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: total}
		for _, n := range nodes {
			rt.Assignment = append(rt.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: []int32{n}})
		}
		req.Topics = []kmsg.CreatePartitionsRequestTopic{rt}
		return w.ask(t, 3, req).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode
	}
	for _, step := range []struct {
		total    int32
		validate bool
		nodes    []int32
		want     int16
		have     int
	}{
		{4, true, nil, 0, 2}, {4, false, nil, 0, 4}, {5, false, []int32{1}, 0, 5},
		{6, false, []int32{2}, kerr.InvalidReplicaAssignment.Code, 5},
		{7, false, []int32{1}, kerr.InvalidReplicaAssignment.Code, 5},
		{5, false, nil, kerr.InvalidPartitions.Code, 5}, {3, false, nil, kerr.InvalidPartitions.Code, 5},
		{7, false, []int32{1, 1}, 0, 7},
	} {
		if got := grow(step.total, step.validate, step.nodes...); got != step.want {
			t.Errorf("to %d partitions on %v: error %d, want %d", step.total, step.nodes, got, step.want)
		}
		if got := len(partitionsOf(t, w, topic)); got != step.have {
			t.Errorf("to %d partitions on %v: %d are described, want %d", step.total, step.nodes, got, step.have)
		}
	}
	if got := describedResource(t, w, kmsg.ConfigResourceTypeBroker, "1"); got["num.partitions"] != "1" || got["broker.id"] != "1" {
		t.Errorf("the broker's settings: %v", got)
	}

	cl := client(t, s, kgo.DefaultProduceTopic(topic))
	ledger := harness.NewLedger()
	for p := range int32(7) {
		publish(t, cl, ledger, newMaker(4).records(topic, p, 10, 10)...)
	}
	s = restart(t, s)
	w = dial(t, s)
	verify(t, s, ledger, topic)
	if got := len(partitionsOf(t, w, topic)); got != 7 {
		t.Errorf("after a restart there are %d partitions", got)
	}
}

// partitionsOf are the partitions of a topic, by both requests that describe them.
func partitionsOf(t *testing.T, w *wire, topic string) (indexes []int32) {
	t.Helper()
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	found := w.ask(t, 12, meta).(*kmsg.MetadataResponse).Topics[0]
	for _, p := range found.Partitions {
		indexes = append(indexes, p.Partition)
	}
	paged := kmsg.NewPtrDescribeTopicPartitionsRequest()
	paged.ResponsePartitionLimit = 1000
	paged.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: topic}}
	var again []int32
	for _, p := range w.ask(t, 0, paged).(*kmsg.DescribeTopicPartitionsResponse).Topics[0].Partitions {
		again = append(again, p.Partition)
	}
	if !slices.Equal(indexes, again) {
		t.Errorf("partitions %v by Metadata, %v by DescribeTopicPartitions", indexes, again)
	}
	return indexes
}

// Topic ids hold over restarts and kills, and a topic that is made again under its name has another one. Requests by the
// old id are told that there is no such topic, and touch nothing.
func TestTopicIDs(t *testing.T) {
	t.Parallel()
	const topic = "ids"
	s := start(t, options(t))
	create(t, client(t, s), topic, 1, nil)
	w := dial(t, s)
	id := w.topicID(t, topic)
	batch := newBatch(0, nil, time.Now().UnixMilli(), []byte("v"))
	if code := w.produceByID(t, id, batch); code != 0 {
		t.Fatalf("produce by id: error %d", code)
	}
	for _, again := range []func(){func() { s = restart(t, s) }, func() { kill(t, s); s = start(t, s.Again()) }} {
		again()
		w = dial(t, s)
		if now := w.topicID(t, topic); now != id {
			t.Errorf("the topic had id %x, and has %x", id, now)
		}
		if code, n := w.fetchByID(t, id); code != 0 || n != 1 {
			t.Errorf("fetch by id: error %d, %d batches", code, n)
		}
	}

	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}
	if got := w.ask(t, 6, del).(*kmsg.DeleteTopicsResponse).Topics[0]; got.ErrorCode != 0 || got.Topic == nil || *got.Topic != topic {
		t.Fatalf("delete by id: %+v", got)
	}
	if got := w.ask(t, 6, del).(*kmsg.DeleteTopicsResponse).Topics[0]; got.ErrorCode != kerr.UnknownTopicID.Code {
		t.Errorf("delete by id again: error %d", got.ErrorCode)
	}
	create(t, client(t, s), topic, 1, nil)
	newer := w.topicID(t, topic)
	if newer == id {
		t.Errorf("the topic that was made again has the old id %x", id)
	}
	if code := w.produceByID(t, id, batch); code != kerr.UnknownTopicID.Code {
		t.Errorf("produce by the old id: error %d", code)
	}
	if code, _ := w.fetchByID(t, id); code != kerr.UnknownTopicID.Code {
		t.Errorf("fetch by the old id: error %d", code)
	}
	if code, n := w.fetchByID(t, newer); code != 0 || n != 0 {
		t.Errorf("fetch by the new id: error %d, %d batches", code, n)
	}
}

func (w *wire) produceByID(t *testing.T, id [16]byte, batch []byte) int16 {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{
		TopicID: id, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch}},
	}}
	return w.ask(t, 13, req).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode
}

// fetchByID reads partition 0 from its start, and returns the error and the number of batches.
func (w *wire) fetchByID(t *testing.T, id [16]byte) (int16, int) {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	req.Topics = []kmsg.FetchRequestTopic{{TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	got := w.ask(t, 13, req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	return got.ErrorCode, len(batchesIn(t, got.RecordBatches))
}
