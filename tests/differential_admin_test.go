package tests

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func settingSteps() []step {
	describe := func(kind kmsg.ConfigResourceType, name string, keys ...string) func(*peer, int16) kmsg.Request {
		return func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.IncludeSynonyms = true
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
			return req
		}
	}
	change := func(topic, key string, op kmsg.IncrementalAlterConfigOp, value *string) func(*peer, int16) kmsg.Request {
		return func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
				ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
				Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: value}},
			}}
			return req
		}
	}
	replace := func(topic, key, value string) func(*peer, int16) kmsg.Request {
		return func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrAlterConfigsRequest()
			req.Resources = []kmsg.AlterConfigsRequestResource{{
				ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: key, Value: &value}},
			}}
			return req
		}
	}
	const set, unset, add, subtract = 0, 1, 2, 3
	policy := describe(kmsg.ConfigResourceTypeTopic, scriptMain, "cleanup.policy")
	return []step{
		{name: "describe settings", min: 1, max: 4, ask: describe(kmsg.ConfigResourceTypeTopic, scriptMain, "max.message.bytes", "retention.ms", "compression.type")},
		{name: "describe settings of no topic", min: 1, max: 4, ask: describe(kmsg.ConfigResourceTypeTopic, "nowhere")},
		{name: "describe settings of another broker", min: 1, max: 4, ask: describe(kmsg.ConfigResourceTypeBroker, "77")},
		{name: "set", min: 0, max: 1, ask: change(scriptMain, "cleanup.policy", set, text("compact"))},
		{name: "append", min: 0, max: 1, ask: change(scriptMain, "cleanup.policy", add, text("delete"))},
		{name: "describe what was appended", min: 4, max: 4, ask: policy},
		{name: "subtract", min: 0, max: 1, ask: change(scriptMain, "cleanup.policy", subtract, text("compact"))},
		{name: "describe what was subtracted", min: 4, max: 4, ask: policy},
		{name: "append to a number", min: 0, max: 1, ask: change(scriptMain, "retention.ms", add, text("1"))},
		{name: "set what is wrong", min: 0, max: 1, ask: change(scriptMain, "retention.ms", set, text("soon"))},
		{name: "set what is unknown", min: 0, max: 1, ask: change(scriptMain, "no.such.setting", set, text("1"))},
		{name: "set for no topic", min: 0, max: 1, ask: change("nowhere", "retention.ms", set, text("1"))},
		{name: "unset", min: 0, max: 1, ask: change(scriptMain, "cleanup.policy", unset, nil)},
		{name: "describe what was unset", min: 4, max: 4, ask: policy},
		{name: "replace", min: 0, max: 2, ask: replace(scriptMain, "retention.ms", "86400000")},
		{name: "describe what was replaced", min: 4, max: 4, ask: describe(kmsg.ConfigResourceTypeTopic, scriptMain, "max.message.bytes", "retention.ms")},
		{name: "replace by what is wrong", min: 0, max: 2, ask: replace(scriptMain, "retention.ms", "soon")},
		{name: "replace for no topic", min: 0, max: 2, ask: replace("nowhere", "retention.ms", "1")},
	}
}

func clusterSteps() []step {
	return []step{
		{name: "describe the cluster", min: 0, max: 2, ask: func(*peer, int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() }},
		{name: "describe directories", min: 1, max: 3, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: scriptMain, Partitions: []int32{1}}, {Topic: "nowhere", Partitions: []int32{0}}}
			return req
		}},
		{name: "describe partitions", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 100
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: scriptMain}, {Topic: "nowhere"}}
			return req
		}},
		{name: "describe a page of partitions", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 2
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: scriptOther}, {Topic: scriptMain}}
			req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: scriptMain, Partition: 1}
			return req
		}},
		{name: "elect leaders", min: 0, max: 2, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrElectLeadersRequest()
			req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: scriptMain, Partitions: []int32{0, 9}}, {Topic: "nowhere", Partitions: []int32{0}}}
			return req
		}},
		{name: "reassign", min: 0, max: 1, ask: func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			to := func(topic string, partition int32, replicas ...int32) {
				req.Topics = append(req.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{
					Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: partition, Replicas: replicas}},
				})
			}
			to(scriptMain, 0, p.node)
			to(scriptMain, 1, 77)
			to(scriptOther, 0)
			to("nowhere", 0, p.node)
			return req
		}},
		{name: "list reassignments", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			return kmsg.NewPtrListPartitionReassignmentsRequest()
		}},
		{name: "list what has settings", min: 0, max: 1, ask: func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = []int8{int8(kmsg.ConfigResourceTypeTopic)}
			return req
		}},
		{name: "list what is unknown", min: 1, max: 1, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = []int8{3}
			return req
		}},
	}
}

func endSteps() []step {
	return []step{
		{name: "delete topics", min: 1, max: 6, ask: func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TopicNames = []string{fmt.Sprint("made-", version), "nowhere"}
			for _, name := range req.TopicNames {
				req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
			}
			return req
		}},
		{name: "delete a topic by id", min: 6, max: 6, ask: func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: p.topics[scriptMain]}, {TopicID: p.topics["nowhere"]}}
			return req
		}},
		{name: "fetch from a deleted topic", min: 13, max: 18, ask: func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrFetchRequest()
			req.MaxBytes, req.SessionEpoch = 1<<20, -1
			req.Topics = []kmsg.FetchRequestTopic{{
				TopicID: p.topics[scriptMain], Partitions: []kmsg.FetchRequestTopicPartition{kmsg.NewFetchRequestTopicPartition()},
			}}
			return req
		}},
		{name: "a key that nobody serves", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			return kmsg.NewPtrEnvelopeRequest()
		}},
	}
}
