package tests

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// wire is one plain connection that sends exactly the requests it is told to: no retries, no negotiation.
type wire struct {
	net.Conn
	sent int32 // correlation ids so far
}

// dial opens a plain connection to the Kafka port.
func dial(t *testing.T, s *harness.Server) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Kafka, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &wire{Conn: conn}
}

// ask sends a request in the given version and returns the answer.
func (w *wire) ask(t *testing.T, version int16, req kmsg.Request) kmsg.Response {
	t.Helper()
	resp, err := w.try(version, req)
	if err != nil {
		t.Fatalf("%s on a plain connection: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp
}

// try is ask for a connection that may be closed by the broker.
func (w *wire) try(version int16, req kmsg.Request) (kmsg.Response, error) {
	req.SetVersion(version)
	w.sent++
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("tests")).AppendRequest(nil, req, w.sent)
	w.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := w.Write(frame); err != nil {
		return nil, err
	}
	size := make([]byte, 4)
	if _, err := io.ReadFull(w, size); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(w, body); err != nil {
		return nil, err
	}
	b := kbin.Reader{Src: body}
	if id := b.Int32(); id != w.sent {
		return nil, fmt.Errorf("the answer has correlation id %d, want %d", id, w.sent)
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() && req.Key() != 18 { // the header of ApiVersions stays as it was (KIP-511)
		kmsg.SkipTags(&b)
	}
	return resp, resp.ReadFrom(b.Src)
}

// topicID asks for a topic's id.
func (w *wire) topicID(t *testing.T, topic string) [16]byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	resp := w.ask(t, 12, req).(*kmsg.MetadataResponse)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("metadata of %s: %+v", topic, resp.Topics)
	}
	return resp.Topics[0].TopicID
}

// produce sends one batch to one partition and returns the partition's answer. Version 9 is the first flexible one and
// still names the topic.
func (w *wire) produce(t *testing.T, topic string, partition int32, batch []byte) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{
		Topic:      topic,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}},
	}}
	resp := w.ask(t, 9, req).(*kmsg.ProduceResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Fatalf("produce: %+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}

// from is a position to fetch at, with a limit of bytes for its partition.
type from struct {
	topic     string
	partition int32
	offset    int64
	maxBytes  int32
}

// fetch asks for several partitions at once and returns their answers in the same order. maxBytes is the limit of the
// whole answer. Version 12 still names the topics.
func (w *wire) fetch(t *testing.T, maxBytes int32, positions ...from) []kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 200, 1, maxBytes, -1
	for _, at := range positions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.partition, at.offset, at.maxBytes
		req.Topics = append(req.Topics, kmsg.FetchRequestTopic{
			Topic: at.topic, Partitions: []kmsg.FetchRequestTopicPartition{p},
		})
	}
	resp := w.ask(t, 12, req).(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 || len(resp.Topics) != len(positions) {
		t.Fatalf("fetch: error %d, %d topics, want %d", resp.ErrorCode, len(resp.Topics), len(positions))
	}
	var answers []kmsg.FetchResponseTopicPartition
	for i, at := range positions {
		topic := resp.Topics[i]
		if topic.Topic != at.topic || len(topic.Partitions) != 1 || topic.Partitions[0].Partition != at.partition {
			t.Fatalf("fetch: answer %d is for %s, want %s", i, topic.Topic, at.topic)
		}
		answers = append(answers, topic.Partitions[0])
	}
	return answers
}

// listOffset asks for one offset by time: -1 the end, -2 the start, -3 the largest time.
func (w *wire) listOffset(t *testing.T, topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	resp := w.ask(t, 7, req).(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Fatalf("list offsets: %+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}
