package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

// kafkaGo is segmentio's kafka-go, pure Go.
type kafkaGo struct {
	server  string
	client  *kafka.Client
	members atomic.Int32
}

func newKafkaGo(server string) client {
	return &kafkaGo{server: server, client: &kafka.Client{Addr: kafka.TCP(server), Timeout: 30 * time.Second}}
}

func (c *kafkaGo) version() string  { return moduleVersion("github.com/segmentio/kafka-go") }
func (c *kafkaGo) cannot() []string { return []string{tellEmptyFromNull} }

func (c *kafkaGo) createTopic(topic string, config map[string]string) {
	request := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
	for name, value := range config {
		request.ConfigEntries = append(request.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	answer := must(c.client.CreateTopics(context.Background(),
		&kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{request}}))
	check(answer.Errors[topic])
}

func (c *kafkaGo) describeTopic(topic string) (int, map[string]string) {
	ctx := context.Background()
	metadata := must(c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}}))
	check(metadata.Topics[0].Error)
	answer := must(c.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}}}))
	check(answer.Resources[0].Error)
	config := map[string]string{}
	for _, e := range answer.Resources[0].ConfigEntries {
		config[e.ConfigName] = e.ConfigValue
	}
	return len(metadata.Topics[0].Partitions), config
}

func (c *kafkaGo) topics() []string {
	var names []string
	for _, t := range must(c.client.Metadata(context.Background(), &kafka.MetadataRequest{})).Topics {
		names = append(names, t.Name)
	}
	return names
}

func (c *kafkaGo) produce(topic, codec string, records []record) {
	codecs := map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}
	writer := &kafka.Writer{Addr: kafka.TCP(c.server), Topic: topic, Compression: codecs[codec],
		Balancer: kafka.Murmur2Balancer{}, BatchTimeout: 20 * time.Millisecond, RequiredAcks: kafka.RequireAll}
	var messages []kafka.Message
	for _, r := range records {
		m := kafka.Message{Key: r.key, Value: r.value, Time: time.UnixMilli(r.time)}
		for _, h := range r.headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.key, Value: h.value})
		}
		messages = append(messages, m)
	}
	check(writer.WriteMessages(context.Background(), messages...))
	check(writer.Close())
}

func fromKafkaGo(m kafka.Message) record {
	r := record{key: m.Key, value: m.Value, time: m.Time.UnixMilli()}
	for _, h := range m.Headers {
		r.headers = append(r.headers, header{h.Key, h.Value})
	}
	return r
}

// kafkaGoMember is told apart by its client id: this client does not tell what a reader owns, the broker does.
type kafkaGoMember struct {
	client    *kafkaGo
	group, id string
	reader    *kafka.Reader
	last      map[int]kafka.Message // of each partition, to commit
}

func (c *kafkaGo) member(topic, group string) member {
	id := fmt.Sprint("member-", c.members.Add(1))
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{c.server}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		MaxWait: 200 * time.Millisecond, Dialer: &kafka.Dialer{ClientID: id, Timeout: 10 * time.Second},
		HeartbeatInterval: 200 * time.Millisecond, JoinGroupBackoff: 200 * time.Millisecond,
	})
	return &kafkaGoMember{c, group, id, reader, map[int]kafka.Message{}}
}

func (m *kafkaGoMember) poll() map[position]record {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	read := map[position]record{}
	for len(read) < perCodec {
		message, err := m.reader.FetchMessage(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		check(err)
		read[position{int32(message.Partition), message.Offset}] = fromKafkaGo(message)
		m.last[message.Partition] = message
	}
	return read
}

func (m *kafkaGoMember) owned() []int32 {
	var owned []int32
	for _, member := range m.client.describe(m.group).Members {
		if member.ClientID != m.id {
			continue
		}
		for _, topic := range member.MemberAssignments.Topics {
			for _, p := range topic.Partitions {
				owned = append(owned, int32(p))
			}
		}
	}
	return owned
}

func (m *kafkaGoMember) leave() {
	for _, message := range m.last {
		check(m.reader.CommitMessages(context.Background(), message))
	}
	check(m.reader.Close())
}

func (c *kafkaGo) describe(group string) kafka.DescribeGroupsResponseGroup {
	answer := must(c.client.DescribeGroups(context.Background(), &kafka.DescribeGroupsRequest{GroupIDs: []string{group}}))
	check(answer.Groups[0].Error)
	return answer.Groups[0]
}

func (c *kafkaGo) describeGroup(group string) (string, int) {
	g := c.describe(group)
	return strings.ToLower(g.GroupState), len(g.Members)
}

func (c *kafkaGo) groups() []string {
	answer := must(c.client.ListGroups(context.Background(), &kafka.ListGroupsRequest{}))
	check(answer.Error)
	var ids []string
	for _, g := range answer.Groups {
		ids = append(ids, g.GroupID)
	}
	return ids
}

func (c *kafkaGo) committed(group, topic string) map[int32]int64 {
	answer := must(c.client.OffsetFetch(context.Background(),
		&kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0, 1, 2}}}))
	check(answer.Error)
	offsets := map[int32]int64{}
	for _, p := range answer.Topics[topic] {
		check(p.Error)
		offsets[int32(p.Partition)] = p.CommittedOffset
	}
	return offsets
}

func (c *kafkaGo) deleteGroup(group string) {
	answer := must(c.client.DeleteGroups(context.Background(), &kafka.DeleteGroupsRequest{GroupIDs: []string{group}}))
	check(answer.Errors[group])
}

func (c *kafkaGo) offsetsForTime(topic string, ms int64) map[int32]int64 {
	var asked []kafka.OffsetRequest
	for p := range partitions {
		asked = append(asked, kafka.TimeOffsetOf(p, time.UnixMilli(ms)))
	}
	answer := must(c.client.ListOffsets(context.Background(),
		&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}}))
	offsets := map[int32]int64{}
	for _, p := range answer.Topics[topic] {
		check(p.Error)
		for offset := range p.Offsets {
			offsets[int32(p.Partition)] = offset
		}
	}
	return offsets
}

func (c *kafkaGo) readOne(topic string, partition int32, offset int64) record {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{c.server}, Topic: topic, Partition: int(partition)})
	check(reader.SetOffset(offset))
	r := fromKafkaGo(must(reader.ReadMessage(context.Background())))
	check(reader.Close())
	return r
}

func (c *kafkaGo) deleteTopic(topic string) {
	answer := must(c.client.DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: []string{topic}}))
	check(answer.Errors[topic])
}
