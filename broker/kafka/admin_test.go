package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log/vfs"
	"brokerd/topic"
)

// newTopic describes a topic to create.
func newTopic(name string, partitions int32, replicas int16) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	return t
}

func assigned(name string, replicas ...int32) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1, -1)
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), []int32{r}
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func with(t kmsg.CreateTopicsRequestTopic, key, value string) kmsg.CreateTopicsRequestTopic {
	t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	return t
}

func TestCreateTopics(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 1})
	ts.create("old", 1, nil)
	c := ts.dial()
	gap := assigned("gap", 1, 1)
	gap.ReplicaAssignment[1].Partition = 5
	both := assigned("both", 1)
	both.NumPartitions = 1
	noValue := newTopic("null", 1, 1)
	noValue.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}
	tests := []struct {
		topic      kmsg.CreateTopicsRequestTopic
		code       int16
		partitions int32
	}{
		{newTopic("plain", 3, 1), codeNone, 3},
		{newTopic("defaults", -1, -1), codeNone, 1},
		{newTopic("three-replicas", 1, 3), codeNone, 1},
		{assigned("assigned", 1, 1), codeNone, 2},
		{with(newTopic("set", 1, 1), "retention.ms", "1000"), codeNone, 1},
		{newTopic("old", 1, 1), codeTopicAlreadyExists, -1},
		{newTopic("not a name", 1, 1), codeInvalidTopic, -1},
		{newTopic("", 1, 1), codeInvalidTopic, -1},
		{newTopic("none", 0, 1), codeInvalidPartitions, -1},
		{newTopic("no-replica", 1, 0), codeInvalidReplicationFactor, -1},
		{assigned("elsewhere", 2), codeInvalidReplicaAssignment, -1},
		{gap, codeInvalidReplicaAssignment, -1},
		{both, codeInvalidRequest, -1},
		{noValue, codeInvalidConfig, -1},
		{with(newTopic("unknown", 1, 1), "no.such.setting", "1"), codeInvalidConfig, -1},
		{with(newTopic("wrong", 1, 1), "retention.ms", "soon"), codeInvalidConfig, -1},
		{with(with(newTopic("twice", 1, 1), "retention.ms", "1"), "retention.ms", "2"), codeInvalidConfig, -1},
	}
	for _, validateOnly := range []bool{true, false} {
		for _, test := range tests {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.Version, req.ValidateOnly = 7, validateOnly
			req.Topics = append(req.Topics, test.topic)
			got := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]
			if got.ErrorCode != test.code || got.NumPartitions != test.partitions && !validateOnly {
				t.Errorf("%q, only validate %v: %+v", test.topic.Topic, validateOnly, got)
			}
			if (got.ErrorMessage == nil) != (test.code == codeNone) {
				t.Errorf("%q: message %v", test.topic.Topic, got.ErrorMessage)
			}
			_, exists := ts.topics.Get(test.topic.Topic)
			if want := test.topic.Topic == "old" || test.code == codeNone && !validateOnly; exists != want {
				t.Errorf("%q, only validate %v: exists %v", test.topic.Topic, validateOnly, exists)
			}
			if test.code == codeNone && !validateOnly && (got.ReplicationFactor != 1 || len(got.Configs) < 20) {
				t.Errorf("%q: %d replicas, %d settings", test.topic.Topic, got.ReplicationFactor, len(got.Configs))
			}
		}
	}
}

func TestCreateTopicTwiceInOneRequest(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	for version := int16(2); version <= 7; version++ {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = version
		req.Topics = append(req.Topics, newTopic("t", 1, 1), newTopic("t", 2, 1))
		got := ask[*kmsg.CreateTopicsResponse](ts.dial(), req).Topics
		if len(got) != 1 || got[0].ErrorCode != codeInvalidRequest {
			t.Errorf("version %d: %+v", version, got)
		}
	}
}

func TestDeleteTopics(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	c := ts.dial()
	for version := int16(1); version <= 6; version++ {
		ts.create("t", 1, nil)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		req.TopicNames = []string{"t", "nowhere"}
		for _, name := range req.TopicNames {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
		got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics
		if len(got) != 2 || got[0].ErrorCode != 0 || *got[0].Topic != "t" || got[1].ErrorCode != codeUnknownTopicOrPartition {
			t.Errorf("version %d: %+v", version, got)
		}
	}
	made := ts.create("t", 1, nil)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	req.Topics = []kmsg.DeleteTopicsRequestTopic{
		{TopicID: made.ID()}, {TopicID: [16]byte{1}}, {}, {Topic: kmsg.StringPtr("t"), TopicID: made.ID()},
	}
	got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics
	for i, want := range []int16{codeNone, codeUnknownTopicID, codeInvalidRequest, codeInvalidRequest} {
		if got[i].ErrorCode != want {
			t.Errorf("by id, %d: %+v, want error %d", i, got[i], want)
		}
	}
}

func TestDeleteRecords(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	made := ts.create("t", 1, nil)
	ts.create("compact", 1, map[string]string{"cleanup.policy": "compact"})
	c := ts.dial()
	c.produce(made, 0, batchOf(t, "a", "b", "c"))
	tests := []struct {
		topic     string
		partition int32
		offset    int64
		low       int64
		code      int16
	}{
		{"t", 0, 2, 2, codeNone}, {"t", 0, 1, 2, codeNone}, {"t", 0, 4, -1, codeOffsetOutOfRange},
		{"t", 0, -2, -1, codeOffsetOutOfRange}, {"t", 0, -1, 3, codeNone},
		{"t", 1, 0, -1, codeUnknownTopicOrPartition}, {"nowhere", 0, 0, -1, codeUnknownTopicOrPartition},
		{"compact", 0, -1, -1, codePolicyViolation},
	}
	for _, test := range tests {
		req := kmsg.NewPtrDeleteRecordsRequest()
		q := kmsg.NewDeleteRecordsRequestTopicPartition()
		q.Partition, q.Offset = test.partition, test.offset
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{
			Topic: test.topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{q},
		}}
		got := ask[*kmsg.DeleteRecordsResponse](c, req).Topics[0].Partitions[0]
		if got.LowWatermark != test.low || got.ErrorCode != test.code {
			t.Errorf("%+v: low watermark %d, error %d", test, got.LowWatermark, got.ErrorCode)
		}
	}
}

func TestCreatePartitions(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 1})
	ts.create("t", 2, nil)
	c := ts.dial()
	on := func(nodes ...int32) (as []kmsg.CreatePartitionsRequestTopicAssignment) {
		as = []kmsg.CreatePartitionsRequestTopicAssignment{}
		for _, n := range nodes {
			as = append(as, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: []int32{n}})
		}
		return as
	}
	tests := []struct {
		topic      string
		count      int32
		assignment []kmsg.CreatePartitionsRequestTopicAssignment
		code       int16
	}{
		{"t", 2, nil, codeInvalidPartitions}, {"t", 1, nil, codeInvalidPartitions}, {"t", -1, nil, codeInvalidPartitions},
		{"t", 3, on(2), codeInvalidReplicaAssignment}, {"t", 3, on(1, 1), codeInvalidReplicaAssignment},
		{"nowhere", 3, nil, codeUnknownTopicOrPartition},
		{"t", 3, nil, codeNone}, {"t", 4, on(), codeNone}, {"t", 6, on(1, 1), codeNone},
	}
	for _, test := range tests {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: test.topic, Count: test.count, Assignment: test.assignment}}
		got := ask[*kmsg.CreatePartitionsResponse](c, req).Topics[0]
		if got.ErrorCode != test.code {
			t.Errorf("%+v: error %d", test, got.ErrorCode)
		}
	}
	if made, _ := ts.topics.Get("t"); len(made.Partitions()) != 6 {
		t.Errorf("%d partitions, want 6", len(made.Partitions()))
	}
}

func TestReassignments(t *testing.T) {
	ts := startServer(t, Options{})
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	got := ask[*kmsg.ListPartitionReassignmentsResponse](ts.dial(), req)
	if got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
}

// askConfigs describes one resource.
func askConfigs(c *client, version int16, kind kmsg.ConfigResourceType, name string, keys ...string) kmsg.DescribeConfigsResponseResource {
	c.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	res := kmsg.DescribeConfigsRequestResource{ResourceType: kind, ResourceName: name, ConfigNames: keys}
	req.Resources = append(req.Resources, res, res)
	got := ask[*kmsg.DescribeConfigsResponse](c, req).Resources
	if len(got) != 1 {
		c.t.Fatalf("%d resources in the answer", len(got))
	}
	return got[0]
}

func TestDescribeConfigs(t *testing.T) {
	extra := topic.Setting{Name: "log.dirs", Value: "/data", Type: topic.String, Source: topic.FromBroker}
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 1, Settings: []topic.Setting{extra}})
	ts.create("t", 1, map[string]string{"retention.ms": "5"})
	c := ts.dial()
	for version := int16(1); version <= 4; version++ {
		got := askConfigs(c, version, kmsg.ConfigResourceTypeTopic, "t")
		if got.ErrorCode != 0 || len(got.Configs) < 20 {
			t.Errorf("version %d: error %d, %d settings", version, got.ErrorCode, len(got.Configs))
		}
		one := askConfigs(c, version, kmsg.ConfigResourceTypeTopic, "t", "retention.ms")
		if len(one.Configs) != 1 {
			t.Fatalf("version %d: %d settings", version, len(one.Configs))
		}
		s := one.Configs[0]
		if *s.Value != "5" || s.Source != kmsg.ConfigSourceDynamicTopicConfig || len(s.ConfigSynonyms) < 2 || s.ReadOnly {
			t.Errorf("version %d: %+v", version, s)
		}
		if version >= 3 && (s.Documentation == nil || s.ConfigType == 0) {
			t.Errorf("version %d: no documentation or type: %+v", version, s)
		}
	}
	broker := askConfigs(c, 4, kmsg.ConfigResourceTypeBroker, "1")
	values := make(map[string]string)
	for i, c := range broker.Configs {
		if values[c.Name] = *c.Value; !c.ReadOnly || i > 0 && c.Name <= broker.Configs[i-1].Name {
			t.Errorf("broker: %+v, is not read-only or not in order", c)
		}
	}
	for name, want := range map[string]string{
		"log.dirs": "/data", "broker.id": "1", "log.retention.ms": "604800000", "message.max.bytes": "1048588",
	} {
		if values[name] != want {
			t.Errorf("broker: %s is %q, want %q", name, values[name], want)
		}
	}
	for _, test := range []struct {
		kind kmsg.ConfigResourceType
		name string
		code int16
	}{
		{kmsg.ConfigResourceTypeBroker, "", codeNone}, {kmsg.ConfigResourceTypeBroker, "2", codeInvalidRequest},
		{kmsg.ConfigResourceTypeTopic, "nowhere", codeUnknownTopicOrPartition},
		{kmsg.ConfigResourceTypeGroupConfig, "g", codeNone}, {kmsg.ConfigResourceTypeClientMetrics, "m", codeNone},
		{kmsg.ConfigResourceTypeBrokerLogger, "1", codeInvalidRequest},
	} {
		if got := askConfigs(c, 4, test.kind, test.name); got.ErrorCode != test.code || len(got.Configs) != 0 {
			t.Errorf("%+v: error %d, %d settings", test, got.ErrorCode, len(got.Configs))
		}
	}
}

func TestIncrementalAlterConfigs(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 1})
	made := ts.create("t", 1, nil)
	c := ts.dial()
	type config = kmsg.IncrementalAlterConfigsRequestResourceConfig
	set := func(key string, op kmsg.IncrementalAlterConfigOp, value string) config {
		return config{Name: key, Op: op, Value: &value}
	}
	const opSet, opDelete, opAppend, opSubtract = 0, 1, 2, 3
	topicKind, brokerKind := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	tests := []struct {
		kind    kmsg.ConfigResourceType
		name    string
		configs []config
		code    int16
		policy  string // cleanup.policy afterwards
	}{
		{topicKind, "t", []config{set("cleanup.policy", opSet, "compact")}, codeNone, "compact"},
		{topicKind, "t", []config{set("cleanup.policy", opAppend, "delete")}, codeNone, "compact,delete"},
		{topicKind, "t", []config{set("cleanup.policy", opSubtract, "compact")}, codeNone, "delete"},
		{topicKind, "t", []config{set("cleanup.policy", opSet, "burn")}, codeInvalidConfig, "delete"},
		{topicKind, "t", []config{set("cleanup.policy", 4, "compact")}, codeInvalidRequest, "delete"},
		{topicKind, "t", []config{{Name: "cleanup.policy", Op: opSet}}, codeInvalidConfig, "delete"},
		{topicKind, "t", []config{set("a", opSet, "1"), set("a", opSet, "1")}, codeInvalidRequest, "delete"},
		{topicKind, "t", []config{set("retention.ms", opAppend, "1")}, codeInvalidConfig, "delete"},
		{topicKind, "t", []config{{Name: "cleanup.policy", Op: opDelete}}, codeNone, "delete"},
		{topicKind, "nowhere", nil, codeUnknownTopicOrPartition, "delete"},
		{brokerKind, "1", []config{set("log.retention.ms", opSet, "1")}, codeInvalidRequest, "delete"},
		{brokerKind, "1", []config{{Name: "leader.replication.throttled.rate", Op: opDelete}}, codeNone, "delete"},
		{brokerKind, "1", []config{{Name: "follower.replication.throttled.rate", Op: opDelete}}, codeNone, "delete"},
		{brokerKind, "", []config{{Name: "a", Op: opDelete}, set("b", opSet, "1")}, codeInvalidRequest, "delete"},
		{brokerKind, "7", []config{{Name: "a", Op: opDelete}}, codeInvalidRequest, "delete"},
		{kmsg.ConfigResourceTypeBrokerLogger, "1", nil, codeInvalidRequest, "delete"},
	}
	for _, test := range tests {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: test.kind, ResourceName: test.name, Configs: test.configs,
		}}
		got := ask[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources[0]
		if got.ErrorCode != test.code || (got.ErrorMessage == nil) != (test.code == 0) {
			t.Errorf("%+v: error %d", test, got.ErrorCode)
		}
		if policy := settingOf(made, "cleanup.policy"); policy != test.policy {
			t.Errorf("%+v: cleanup.policy is %s", test, policy)
		}
	}
}

func TestAlterConfigs(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	made := ts.create("t", 1, map[string]string{"retention.ms": "5", "segment.ms": "6"})
	c := ts.dial()
	value := "7"
	for _, validateOnly := range []bool{true, false} {
		req := kmsg.NewPtrAlterConfigsRequest()
		req.ValidateOnly = validateOnly
		res := kmsg.AlterConfigsRequestResource{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t",
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.ms", Value: &value}},
		}
		req.Resources = append(req.Resources, res, res)
		got := ask[*kmsg.AlterConfigsResponse](c, req).Resources
		if got[0].ErrorCode != 0 || got[1].ErrorCode != codeInvalidRequest {
			t.Errorf("%+v", got)
		}
		if changed := settingOf(made, "segment.ms") == "7"; changed == validateOnly {
			t.Errorf("only validate %v: changed %v", validateOnly, changed)
		}
	}
	if got := settingOf(made, "retention.ms"); got == "5" {
		t.Error("a setting that was left out is still set")
	}
}

func settingOf(t *topic.Topic, name string) string {
	for _, s := range t.Settings() {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}
