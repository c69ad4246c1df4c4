package main

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaClient is IBM's sarama, pure Go.
type saramaClient struct {
	server []string
	config *sarama.Config
	client sarama.Client
	admin  sarama.ClusterAdmin
}

func newSarama(server string) client {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	servers := []string{server}
	return &saramaClient{
		server: servers, config: config,
		client: must(sarama.NewClient(servers, config)), admin: must(sarama.NewClusterAdmin(servers, config)),
	}
}

func (c *saramaClient) version() string  { return moduleVersion("github.com/IBM/sarama") }
func (c *saramaClient) cannot() []string { return nil }

func (c *saramaClient) createTopic(topic string, config map[string]string) {
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for name, value := range config {
		detail.ConfigEntries[name] = &value
	}
	check(c.admin.CreateTopic(topic, detail, false))
}

func (c *saramaClient) describeTopic(topic string) (int, map[string]string) {
	described := must(c.admin.DescribeTopics([]string{topic}))
	config := map[string]string{}
	for _, e := range must(c.admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})) {
		config[e.Name] = e.Value
	}
	return len(described[0].Partitions), config
}

func (c *saramaClient) topics() []string {
	return slices.Collect(maps.Keys(must(c.admin.ListTopics())))
}

func (c *saramaClient) produce(topic, codec string, records []record) {
	config := *c.config
	check(config.Producer.Compression.UnmarshalText([]byte(codec)))
	producer := must(sarama.NewSyncProducer(c.server, &config))
	var messages []*sarama.ProducerMessage
	for _, r := range records {
		m := &sarama.ProducerMessage{Topic: topic, Timestamp: time.UnixMilli(r.time)}
		if r.key != nil {
			m.Key = sarama.ByteEncoder(r.key)
		}
		if r.value != nil {
			m.Value = sarama.ByteEncoder(r.value)
		}
		for _, h := range r.headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.key), Value: h.value})
		}
		messages = append(messages, m)
	}
	check(producer.SendMessages(messages))
	check(producer.Close())
}

func fromSarama(m *sarama.ConsumerMessage) record {
	r := record{key: m.Key, value: m.Value, time: m.Timestamp.UnixMilli()}
	for _, h := range m.Headers {
		r.headers = append(r.headers, header{string(h.Key), h.Value})
	}
	return r
}

// saramaMember implements sarama's ConsumerGroupHandler.
type saramaMember struct {
	group   sarama.ConsumerGroup
	stop    context.CancelFunc
	stopped chan struct{}

	mu     sync.Mutex
	read   map[position]record
	claims []int32
}

func (c *saramaClient) member(topic, group string) member {
	ctx, stop := context.WithCancel(context.Background())
	m := &saramaMember{
		group: must(sarama.NewConsumerGroup(c.server, group, c.config)),
		stop:  stop, stopped: make(chan struct{}), read: map[position]record{},
	}
	go func() {
		defer close(m.stopped)
		defer exitOnPanic()
		for ctx.Err() == nil {
			if err := m.group.Consume(ctx, []string{topic}, m); !errors.Is(err, context.Canceled) {
				check(err)
			}
		}
	}()
	return m
}

func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims = nil
	for _, claims := range s.Claims() {
		m.claims = claims
	}
	return nil
}

// Cleanup commits, so that the next owner goes on where this one stopped.
func (m *saramaMember) Cleanup(s sarama.ConsumerGroupSession) error {
	s.Commit()
	return nil
}

func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.mu.Lock()
		m.read[position{message.Partition, message.Offset}] = fromSarama(message)
		m.mu.Unlock()
		s.MarkMessage(message, "")
	}
	return nil
}

func (m *saramaMember) poll() map[position]record {
	time.Sleep(50 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.read)
}

func (m *saramaMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.claims)
}

func (m *saramaMember) leave() {
	m.stop()
	<-m.stopped
	check(m.group.Close())
}

func (c *saramaClient) describeGroup(group string) (string, int) {
	g := must(c.admin.DescribeConsumerGroups([]string{group}))[0]
	return strings.ToLower(g.State), len(g.Members)
}

func (c *saramaClient) groups() []string {
	return slices.Collect(maps.Keys(must(c.admin.ListConsumerGroups())))
}

func (c *saramaClient) committed(group, topic string) map[int32]int64 {
	answer := must(c.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1, 2}}))
	offsets := map[int32]int64{}
	for p, block := range answer.Blocks[topic] {
		offsets[p] = block.Offset
	}
	return offsets
}

func (c *saramaClient) deleteGroup(group string) { check(c.admin.DeleteConsumerGroup(group)) }

func (c *saramaClient) offsetsForTime(topic string, ms int64) map[int32]int64 {
	offsets := map[int32]int64{}
	for p := range int32(partitions) {
		offsets[p] = must(c.client.GetOffset(topic, p, ms))
	}
	return offsets
}

func (c *saramaClient) readOne(topic string, partition int32, offset int64) record {
	consumer := must(sarama.NewConsumer(c.server, c.config))
	claim := must(consumer.ConsumePartition(topic, partition, offset))
	r := fromSarama(<-claim.Messages())
	check(claim.Close())
	check(consumer.Close())
	return r
}

func (c *saramaClient) deleteTopic(topic string) { check(c.admin.DeleteTopic(topic)) }

// moduleVersion is the version of a Go module in this binary, without its v.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == path {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "?"
}
