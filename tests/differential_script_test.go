package tests

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The script's topics: main has data, other is empty; nowhere does not exist.
const scriptMain, scriptOther, scriptGroup = "main", "other", "the-group"

// scriptTime dates every record of the script.
const scriptTime = 1_700_000_000_000

// differences are those between our answers and kfake's, most of them because kfake is more lenient than Kafka.
func differences() []difference {
	const partition = "Topics.Partitions."
	refused := []string{
		"create a bad name", "create an empty name", "create without replicas", "create an unknown setting", "create a wrong setting",
	}
	unreadable := []string{
		"fetch above the end", "fetch below the start", "fetch what was deleted", "fetch from no partition", "fetch from no topic",
		"fetch from a deleted topic", "an error in a session",
	}
	batches := []string{"produce a broken batch", "produce an old batch", "produce nothing", "produce two batches"}
	unwritten := append([]string{
		"produce with acks=2", "produce to no topic", "produce to no partition", "produce too much", "produce out of sequence",
	}, batches...)
	return []difference{
		{[]string{"create", "create in every version", "create nothing but validate"}, []string{"Topics.Configs"},
			"every setting is in the answer, as in Kafka"},
		{[]string{"create in every version"}, []string{"Topics.NumPartitions"},
			"the default number of partitions is a setting"},
		{refused, []string{"Topics.ErrorCode", "Topics.NumPartitions", "Topics.ReplicationFactor", "Topics.Configs"},
			"Kafka refuses such a topic; kfake does not look"},
		{unwritten, []string{partition + "BaseOffset"},
			"nothing was written: Kafka has no offset, -1"},
		{batches, []string{partition + "ErrorCode"},
			"anything but one batch of version 2 is INVALID_RECORD in Kafka; damage is CORRUPT_MESSAGE with both"},
		{[]string{"produce it again"}, []string{partition + "LogStartOffset"},
			"the start is known for a repeated batch too"},
		{[]string{"describe producers"}, []string{partition + "ActiveProducers"},
			"idempotent producers are listed, as in Kafka"},
		{unreadable, []string{partition + "HighWatermark", partition + "LastStableOffset", partition + "LogStartOffset"},
			"with an error Kafka sends no watermarks, -1"},
		{[]string{"another kind of names in a session"}, []string{"ErrorCode", "SessionID", "Topics"},
			"a session keeps to names or to ids (KIP-516)"},
		{[]string{"list the starts", "list the start of the local log"}, []string{partition + "LeaderEpoch"},
			"the epoch of the first record is not looked up; -1 says so"},
		{[]string{"delete records"}, []string{partition + "LowWatermark"},
			"with an error Kafka sends no watermark, -1"},
		{[]string{"find no kind of coordinator"}, []string{"NodeID", "Coordinators.NodeID"},
			"with an error Kafka names no node, -1"},
		{[]string{"commit a long text"}, []string{partition + "ErrorCode"},
			"Kafka limits the text to 4096 bytes (offset.metadata.max.bytes)"},
		{[]string{"list groups"}, []string{"Groups"},
			"the commit of the long text, which kfake took, made one more group"},
		{[]string{"commit as a member of no group"}, []string{partition + "ErrorCode"},
			"from version 9 on a missing group is GROUP_ID_NOT_FOUND (KIP-848)"},
		{[]string{"offsets of an unknown group"}, []string{"ErrorCode", "Groups.ErrorCode", "Topics", "Groups.Topics"},
			"an unknown group has no offsets, which is no error: Kafka Streams relies on it"},
		{[]string{"heartbeat in no group"}, []string{"ErrorCode"},
			"a group that does not exist does not know the member: UNKNOWN_MEMBER_ID makes it join"},
		{[]string{
			"describe settings", "describe what was appended", "describe what was subtracted", "describe what was unset",
			"describe what was replaced",
		}, []string{"Resources.Configs.ConfigSynonyms"},
			"the synonyms are all levels at which the setting has a value, the effective one first, as in Kafka"},
		{[]string{"describe what was appended", "describe what was subtracted"}, []string{"Resources.Configs.Value"},
			"what a list has is not appended again"},
		{[]string{"append to a number"}, []string{"Resources.ErrorCode"},
			"Kafka's controller answers INVALID_CONFIG"},
		{[]string{"set what is wrong", "set what is unknown", "replace by what is wrong"}, []string{"Resources.ErrorCode"},
			"Kafka refuses such a setting; kfake does not look"},
		{[]string{"describe partitions"}, []string{"Topics.AuthorizedOperations"},
			"nothing can be done with a topic that does not exist"},
		{[]string{"elect leaders"}, []string{partition + "ErrorCode"},
			"nothing is to be elected: ELECTION_NOT_NEEDED"},
		{[]string{"reassign"}, []string{partition + "ErrorCode"},
			"there is no broker 77: INVALID_REPLICA_ASSIGNMENT"},
	}
}

// script is what both servers are asked, in order.
func script() []step {
	var all []step
	for _, part := range [][]step{topicSteps(), recordSteps(), groupSteps(), settingSteps(), clusterSteps(), endSteps()} {
		all = append(all, part...)
	}
	return all
}

func text(s string) *string { return &s }

func topicSteps() []step {
	creation := func(validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) func(*peer, int16) kmsg.Request {
		return func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.ValidateOnly = validateOnly
			for _, t := range topics {
				t.Topic = strings.ReplaceAll(t.Topic, "VERSION", fmt.Sprint(version))
				req.Topics = append(req.Topics, t)
			}
			return req
		}
	}
	topic := func(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
		for i := 0; i < len(configs); i += 2 {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
		}
		return t
	}
	create := func(topics ...kmsg.CreateTopicsRequestTopic) func(*peer, int16) kmsg.Request {
		return creation(false, topics...)
	}
	validate := func(topics ...kmsg.CreateTopicsRequestTopic) func(*peer, int16) kmsg.Request {
		return creation(true, topics...)
	}
	assigned := topic("both-VERSION", 1, 1)
	assigned.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{0}}}
	return []step{
		{name: "create", min: 7, max: 7, ask: create(topic(scriptMain, 2, 1, "max.message.bytes", "10000"), topic(scriptOther, 1, 1)), learn: func(p *peer, answer kmsg.Response) {
			for _, t := range answer.(*kmsg.CreateTopicsResponse).Topics {
				p.knows(t.Topic, t.TopicID)
			}
		}},
		{name: "create in every version", min: 2, max: 7, ask: create(topic("made-VERSION", 1, 1), topic("defaults-VERSION", -1, -1))},
		{name: "create nothing but validate", min: 2, max: 7, ask: validate(topic("good-VERSION", 1, 1))},
		{name: "create what exists", min: 2, max: 7, ask: create(topic(scriptMain, 1, 1))},
		{name: "create a bad name", min: 2, max: 7, ask: validate(topic("not a name VERSION", 1, 1))},
		{name: "create an empty name", min: 2, max: 7, ask: validate(topic("", 1, 1))},
		{name: "create without partitions", min: 2, max: 7, ask: validate(topic("none-VERSION", 0, 1))},
		{name: "create without replicas", min: 2, max: 7, ask: validate(topic("alone-VERSION", 1, 0))},
		{name: "create an unknown setting", min: 2, max: 7, ask: validate(topic("unknown-VERSION", 1, 1, "no.such.setting", "1"))},
		{name: "create a wrong setting", min: 2, max: 7, ask: validate(topic("wrong-VERSION", 1, 1, "retention.ms", "soon"))},
		{name: "create twice in one request", min: 2, max: 7, ask: validate(topic("twice-VERSION", 1, 1), topic("twice-VERSION", 1, 1))},
		{name: "create with an assignment and a count", min: 2, max: 7, ask: validate(assigned)},
		{name: "metadata", min: 0, max: 13, ask: func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrMetadataRequest()
			for _, name := range []string{scriptMain, scriptOther, "nowhere"} {
				req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
			}
			return req
		}},
		{name: "metadata of nothing", min: 1, max: 13, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{}
			return req
		}},
		{name: "metadata by id", min: 12, max: 13, ask: func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: p.topics[scriptMain]}, {TopicID: p.topics["nowhere"]}}
			return req
		}},
		{name: "create partitions", min: 0, max: 3, ask: func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrCreatePartitionsRequest()
			grow := func(topic string, count int32) {
				req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count})
			}
			grow(scriptOther, int32(version)+2)
			grow(scriptMain, 1)
			grow("nowhere", 4)
			return req
		}},
	}
}

func recordSteps() []step {
	plain := newBatch(0, nil, scriptTime, []byte("a"), []byte("b"), []byte("c"))
	broken := append([]byte(nil), plain...)
	broken[len(broken)-1] ^= 1
	oldMagic := append([]byte(nil), plain...)
	oldMagic[posBatchMagic] = 1
	produce := func(topic string, partition int32, acks int16, records ...byte) func(*peer, int16) kmsg.Request {
		return func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrProduceRequest()
			req.Acks, req.TimeoutMillis = acks, 10_000
			req.Topics = []kmsg.ProduceRequestTopic{{
				Topic: topic, TopicID: p.topics[topic],
				Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: append([]byte(nil), records...)}},
			}}
			return req
		}
	}
	byProducer := func(sequence int32) func(*peer, int16) kmsg.Request {
		return func(p *peer, version int16) kmsg.Request {
			return produce(scriptMain, 1, -1, sequenced(append([]byte(nil), plain...), p.id, sequence)...)(p, version)
		}
	}
	type at struct {
		topic     string
		partition int32
		offset    int64
	}
	fetch := func(session func(*peer) (id, epoch int32), positions ...at) func(*peer, int16) kmsg.Request {
		return func(p *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrFetchRequest()
			req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 0, 1, 1<<20, -1
			if session != nil {
				req.SessionID, req.SessionEpoch = session(p)
			}
			for _, a := range positions {
				q := kmsg.NewFetchRequestTopicPartition()
				q.Partition, q.FetchOffset, q.PartitionMaxBytes = a.partition, a.offset, 1<<20
				req.Topics = append(req.Topics, kmsg.FetchRequestTopic{
					Topic: a.topic, TopicID: p.topics[a.topic], Partitions: []kmsg.FetchRequestTopicPartition{q},
				})
			}
			return req
		}
	}
	open := func(*peer) (int32, int32) { return 0, 0 }
	next := func(p *peer) (int32, int32) { p.epoch++; return int32(p.id), p.epoch }
	learn := func(p *peer, answer kmsg.Response) {
		if id := answer.(*kmsg.FetchResponse).SessionID; id != 0 {
			p.id = int64(id)
		}
	}
	list := func(time int64) func(*peer, int16) kmsg.Request {
		return func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrListOffsetsRequest()
			req.ReplicaID = -1
			for _, topic := range []string{scriptMain, scriptOther, "nowhere"} {
				q := kmsg.NewListOffsetsRequestTopicPartition()
				q.Timestamp = time
				req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{
					Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{q},
				})
			}
			return req
		}
	}
	return []step{
		{name: "produce", min: 3, max: 13, ask: produce(scriptMain, 0, -1, plain...)},
		{name: "produce with acks=1", min: 3, max: 13, ask: produce(scriptMain, 0, 1, plain...)},
		{name: "produce with acks=2", min: 3, max: 13, ask: produce(scriptMain, 0, 2, plain...)},
		{name: "produce to no topic", min: 3, max: 13, ask: produce("nowhere", 0, -1, plain...)},
		{name: "produce to no partition", min: 3, max: 13, ask: produce(scriptMain, 9, -1, plain...)},
		{name: "produce a broken batch", min: 3, max: 13, ask: produce(scriptMain, 0, -1, broken...)},
		{name: "produce an old batch", min: 3, max: 13, ask: produce(scriptMain, 0, -1, oldMagic...)},
		{name: "produce nothing", min: 3, max: 13, ask: produce(scriptMain, 0, -1)},
		{name: "produce two batches", min: 3, max: 13, ask: produce(scriptMain, 0, -1, append(append([]byte(nil), plain...), plain...)...)},
		{name: "produce too much", min: 3, max: 13, ask: produce(scriptMain, 0, -1, newBatch(0, nil, scriptTime, make([]byte, 20_000))...)},
		{name: "take a producer id", min: 0, max: 4, ask: func(*peer, int16) kmsg.Request {
			return kmsg.NewPtrInitProducerIDRequest()
		}, learn: func(p *peer, answer kmsg.Response) { p.id = answer.(*kmsg.InitProducerIDResponse).ProducerID }},
		{name: "produce in sequence", min: 9, max: 9, ask: byProducer(0)},
		{name: "produce it again", min: 9, max: 9, ask: byProducer(0)},
		{name: "produce out of sequence", min: 9, max: 9, ask: byProducer(7)},
		{name: "produce the next in sequence", min: 9, max: 9, ask: byProducer(3)},
		{name: "describe producers", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeProducersRequest()
			req.Topics = []kmsg.DescribeProducersRequestTopic{
				{Topic: scriptMain, Partitions: []int32{0, 1, 9}}, {Topic: "nowhere", Partitions: []int32{0}},
			}
			return req
		}},

		{name: "fetch", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 0, 0}, at{scriptOther, 0, 0})},
		{name: "fetch inside a batch", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 1, 1})},
		{name: "fetch at the end", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 1, 6})},
		{name: "fetch above the end", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 1, 7})},
		{name: "fetch below the start", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 1, -5})},
		{name: "fetch from no partition", min: 4, max: 18, ask: fetch(nil, at{scriptMain, 9, 0})},
		{name: "fetch from no topic", min: 4, max: 18, ask: fetch(nil, at{"nowhere", 0, 0})},
		{name: "open a session", min: 12, max: 12, ask: fetch(open, at{scriptMain, 1, 6}, at{scriptOther, 0, 0}), learn: func(p *peer, answer kmsg.Response) {
			p.epoch = 0
			learn(p, answer)
		}},
		{name: "nothing new in a session", min: 12, max: 12, ask: fetch(next), learn: learn},
		{name: "records in a session", min: 12, max: 12, ask: fetch(next, at{scriptMain, 1, 3}), learn: learn},
		{name: "an error in a session", min: 12, max: 12, ask: fetch(next, at{scriptMain, 1, 99}), learn: learn},
		{name: "a wrong epoch of a session", min: 12, max: 12, ask: fetch(func(p *peer) (int32, int32) { return int32(p.id), 77 })},
		{name: "another kind of names in a session", min: 13, max: 13, ask: fetch(func(p *peer) (int32, int32) { return int32(p.id), p.epoch + 1 })},
		{name: "no such session", min: 12, max: 13, ask: fetch(func(p *peer) (int32, int32) { return int32(p.id) ^ 1, 1 })},
		{name: "close a session", min: 12, max: 12, ask: fetch(func(p *peer) (int32, int32) { return int32(p.id), -1 }, at{scriptMain, 1, 3})},
		{name: "a closed session", min: 12, max: 12, ask: fetch(func(p *peer) (int32, int32) { return int32(p.id), p.epoch + 1 })},

		{name: "list the ends", min: 1, max: 10, ask: list(-1)},
		{name: "list the starts", min: 1, max: 10, ask: list(-2)},
		{name: "list the largest time", min: 7, max: 10, ask: list(-3)},
		{name: "list the start of the local log", min: 8, max: 10, ask: list(-4)},
		{name: "list by a time that is early", min: 1, max: 10, ask: list(0)},
		{name: "list by the time of the records", min: 1, max: 10, ask: list(scriptTime)},
		{name: "list by a time that is late", min: 1, max: 10, ask: list(scriptTime + 1)},
		{name: "list by a special time that is not known", min: 1, max: 10, ask: list(-99)},
		{name: "end of an epoch", min: 3, max: 4, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			for _, topic := range []string{scriptMain, "nowhere"} {
				q := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				q.CurrentLeaderEpoch, q.LeaderEpoch = -1, 0
				req.Topics = append(req.Topics, kmsg.OffsetForLeaderEpochRequestTopic{
					Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{q},
				})
			}
			return req
		}},
		{name: "delete records", min: 0, max: 2, ask: func(_ *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.Topics = []kmsg.DeleteRecordsRequestTopic{
				{Topic: scriptMain, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{
					{Partition: 0, Offset: int64(version) + 1}, {Partition: 1, Offset: 100},
				}},
				{Topic: scriptOther, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}},
				{Topic: "nowhere", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}},
			}
			return req
		}},
		{name: "fetch what was deleted", min: 12, max: 12, ask: fetch(nil, at{scriptMain, 0, 2})},
		{name: "fetch from the new start", min: 12, max: 12, ask: fetch(nil, at{scriptMain, 0, 3})},
	}
}
