package kafka

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DescribeTopicPartitions (75), version 0 (KIP-966): Metadata in pages, ordered by name. An empty list of topics means
// all of them. A page ends after so many partitions as the client wants, at most maxPage; the answer's cursor says where
// the next one begins.

// maxPage is the most partitions in one answer. (Kafka: max.request.partition.size.limit)
const maxPage = 2000

func (s *Server) describeTopicPartitions(r *request) answer {
	req := r.body.(*kmsg.DescribeTopicPartitionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	names := s.namesToDescribe(req)
	if req.Cursor != nil && req.Cursor.Partition < 0 {
		for _, name := range names {
			resp.Topics = append(resp.Topics, failedTopic(name, codeInvalidRequest)) // there is no other place for an error
		}
		return ready(resp)
	}
	room := max(min(int(req.ResponsePartitionLimit), maxPage), 1)
	for _, name := range names {
		from := 0
		if at := req.Cursor; at != nil && name <= at.Topic {
			if name < at.Topic {
				continue
			}
			from = int(at.Partition)
		}
		if room == 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
			break
		}
		t, err := finder{topics: s.topics}.topic(name, topic.ID{})
		if err != nil {
			resp.Topics = append(resp.Topics, failedTopic(name, codeOf(err)))
			continue
		}
		page := t.Partitions()
		page = page[min(from, len(page)):]
		more := len(page) > room
		page = page[:min(room, len(page))]
		resp.Topics = append(resp.Topics, s.describePage(t, page))
		if room -= len(page); more {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: int32(from + len(page))}
			break
		}
	}
	return ready(resp)
}

// namesToDescribe are the topics that are meant, ordered, each once.
func (s *Server) namesToDescribe(req *kmsg.DescribeTopicPartitionsRequest) (names []string) {
	if len(req.Topics) == 0 {
		for _, t := range s.topics.List() {
			names = append(names, t.Name())
		}
		return names
	}
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}

func failedTopic(name string, code int16) kmsg.DescribeTopicPartitionsResponseTopic {
	dt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	dt.Topic, dt.ErrorCode = &name, code
	return dt
}

func (s *Server) describePage(t *topic.Topic, page []*topic.Partition) kmsg.DescribeTopicPartitionsResponseTopic {
	dt := kmsg.NewDescribeTopicPartitionsResponseTopic()
	dt.Topic, dt.TopicID, dt.AuthorizedOperations = kmsg.StringPtr(t.Name()), t.ID(), topicOperations
	us, none := []int32{s.o.NodeID}, []int32{}
	for _, p := range page {
		dp := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		dp.Partition = p.Index()
		dp.LeaderID, dp.LeaderEpoch = s.o.NodeID, p.Epoch()
		dp.Replicas, dp.ISR = us, us
		dp.EligibleLeaderReplicas, dp.LastKnownELR, dp.OfflineReplicas = none, none, none
		dt.Partitions = append(dt.Partitions, dp)
	}
	return dt
}
