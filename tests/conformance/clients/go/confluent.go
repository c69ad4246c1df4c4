package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// confluent is confluent-kafka-go, which is librdkafka.
type confluent struct {
	server   string
	protocol string // of groups
	admin    *kafka.AdminClient
}

func newConfluent(server string) client         { return makeConfluent(server, "classic") }
func newConfluentConsumer(server string) client { return makeConfluent(server, "consumer") }

func makeConfluent(server, protocol string) client {
	admin := must(kafka.NewAdminClient(&kafka.ConfigMap{"bootstrap.servers": server}))
	return &confluent{server, protocol, admin}
}

func (c *confluent) version() string {
	_, library := kafka.LibraryVersion()
	return moduleVersion("github.com/confluentinc/confluent-kafka-go/v2") + "/" + library
}

func (c *confluent) cannot() []string { return nil }

func (c *confluent) createTopic(topic string, config map[string]string) {
	specification := kafka.TopicSpecification{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1, Config: config}
	answer := must(c.admin.CreateTopics(context.Background(), []kafka.TopicSpecification{specification}))
	checkCode(answer[0].Error)
}

func (c *confluent) describeTopic(topic string) (int, map[string]string) {
	ctx := context.Background()
	topics := must(c.admin.DescribeTopics(ctx, kafka.NewTopicCollectionOfTopicNames([]string{topic}))).TopicDescriptions
	checkCode(topics[0].Error)
	resources := must(c.admin.DescribeConfigs(ctx, []kafka.ConfigResource{{Type: kafka.ResourceTopic, Name: topic}}))
	checkCode(resources[0].Error)
	config := map[string]string{}
	for name, entry := range resources[0].Config {
		config[name] = entry.Value
	}
	return len(topics[0].Partitions), config
}

func checkCode(err kafka.Error) {
	if err.Code() != kafka.ErrNoError {
		panic(err)
	}
}

func (c *confluent) topics() []string {
	return slices.Collect(maps.Keys(must(c.admin.GetMetadata(nil, true, 10_000)).Topics))
}

func (c *confluent) produce(topic, codec string, records []record) {
	producer := must(kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": c.server, "compression.type": codec, "linger.ms": 20, "enable.idempotence": true}))
	defer producer.Close()
	delivered := make(chan kafka.Event, len(records))
	for _, r := range records {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
			Key: r.key, Value: r.value, Timestamp: time.UnixMilli(r.time)}
		for _, h := range r.headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.key, Value: h.value})
		}
		check(producer.Produce(m, delivered))
	}
	for range records {
		check((<-delivered).(*kafka.Message).TopicPartition.Error)
	}
}

func fromConfluent(m *kafka.Message) record {
	r := record{key: m.Key, value: m.Value, time: m.Timestamp.UnixMilli()}
	for _, h := range m.Headers {
		r.headers = append(r.headers, header{h.Key, h.Value})
	}
	return r
}

func (c *confluent) consumer(group string, more kafka.ConfigMap) *kafka.Consumer {
	config := kafka.ConfigMap{"bootstrap.servers": c.server, "group.id": group, "auto.offset.reset": "earliest",
		"enable.auto.commit": false}
	maps.Copy(config, more)
	return must(kafka.NewConsumer(&config))
}

type confluentMember struct{ consumer *kafka.Consumer }

func (c *confluent) member(topic, group string) member {
	config := kafka.ConfigMap{"group.protocol": c.protocol}
	if c.protocol == "classic" {
		config["heartbeat.interval.ms"] = 500
	}
	consumer := c.consumer(group, config)
	check(consumer.SubscribeTopics([]string{topic}, nil))
	return confluentMember{consumer}
}

func (m confluentMember) poll() map[position]record {
	read := map[position]record{}
	for wait := 200; len(read) < perCodec; wait = 0 {
		switch event := m.consumer.Poll(wait).(type) {
		case nil:
			return read
		case *kafka.Message:
			check(event.TopicPartition.Error)
			read[position{event.TopicPartition.Partition, int64(event.TopicPartition.Offset)}] = fromConfluent(event)
		case kafka.Error:
			panic(event)
		}
	}
	return read
}

func (m confluentMember) owned() []int32 {
	var owned []int32
	for _, tp := range must(m.consumer.Assignment()) {
		owned = append(owned, tp.Partition)
	}
	return owned
}

func (m confluentMember) leave() {
	var failure kafka.Error
	if _, err := m.consumer.Commit(); !errors.As(err, &failure) || failure.Code() != kafka.ErrNoOffset {
		check(err)
	}
	check(m.consumer.Close())
}

func (c *confluent) describeGroup(group string) (string, int) {
	answer := must(c.admin.DescribeConsumerGroups(context.Background(), []string{group}))
	g := answer.ConsumerGroupDescriptions[0]
	checkCode(g.Error)
	return strings.ToLower(g.State.String()), len(g.Members)
}

func (c *confluent) groups() []string {
	var ids []string
	for _, g := range must(c.admin.ListConsumerGroups(context.Background())).Valid {
		ids = append(ids, g.GroupID)
	}
	return ids
}

func (c *confluent) committed(group, topic string) map[int32]int64 {
	asked := []kafka.ConsumerGroupTopicPartitions{{Group: group}}
	answer := must(c.admin.ListConsumerGroupOffsets(context.Background(), asked))
	offsets := map[int32]int64{}
	for _, tp := range answer.ConsumerGroupsTopicPartitions[0].Partitions {
		check(tp.Error)
		offsets[tp.Partition] = int64(tp.Offset)
	}
	return offsets
}

func (c *confluent) deleteGroup(group string) {
	answer := must(c.admin.DeleteConsumerGroups(context.Background(), []string{group}))
	checkCode(answer.ConsumerGroupResults[0].Error)
}

func (c *confluent) offsetsForTime(topic string, ms int64) map[int32]int64 {
	consumer := c.consumer("unused", nil)
	var asked []kafka.TopicPartition
	for p := range int32(partitions) {
		asked = append(asked, kafka.TopicPartition{Topic: &topic, Partition: p, Offset: kafka.Offset(ms)})
	}
	offsets := map[int32]int64{}
	for _, tp := range must(consumer.OffsetsForTimes(asked, 10_000)) {
		check(tp.Error)
		offsets[tp.Partition] = int64(tp.Offset)
	}
	check(consumer.Close())
	return offsets
}

func (c *confluent) readOne(topic string, partition int32, offset int64) record {
	consumer := c.consumer("unused", nil)
	check(consumer.Assign([]kafka.TopicPartition{{Topic: &topic, Partition: partition, Offset: kafka.Offset(offset)}}))
	r := fromConfluent(must(consumer.ReadMessage(10 * time.Second)))
	check(consumer.Close())
	return r
}

func (c *confluent) deleteTopic(topic string) {
	answer := must(c.admin.DeleteTopics(context.Background(), []string{topic}))
	checkCode(answer[0].Error)
}
