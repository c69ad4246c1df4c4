package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// OffsetFetch (9), versions 1 to 10. From version 8 on it asks for many groups, in version 10 by topic ids. A null list of
// topics asks for all that the group has (from version 2 on). Where nothing was committed, and for groups that do not
// exist, the answer is offset -1 without an error: clients take an error for a broken broker. A place that is asked for
// twice is answered once, since an answer is much larger than the question. A member of a consumer group (KIP-848) says who
// it is from version 9 on, and gets nothing when it is out of date.

func (s *Server) offsetFetch(r *request) answer {
	req := r.body.(*kmsg.OffsetFetchRequest)
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	f := offsetFetch{groups: s.groups, find: finder{topics: s.topics, byID: req.Version >= 10}}
	if req.Version < 8 {
		asked := make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
		for i, t := range req.Topics {
			asked[i].Topic, asked[i].Partitions = t.Topic, t.Partitions
		}
		if req.Topics == nil && req.Version >= 2 {
			asked = nil
		}
		resp.Topics = singleGroup(f.topics(req.Group, asked))
		return ready(resp)
	}
	seen := map[string]bool{}
	for _, g := range req.Groups {
		if !seen[g.Group] {
			seen[g.Group] = true
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = g.Group
			if err := s.mayFetch(g); err != nil {
				rg.ErrorCode = codeOf(err)
			} else {
				rg.Topics = f.topics(g.Group, g.Topics)
			}
			resp.Groups = append(resp.Groups, rg)
		}
	}
	return ready(resp)
}

func (s *Server) mayFetch(g kmsg.OffsetFetchRequestGroup) error {
	if g.MemberID == nil && g.MemberEpoch < 0 {
		return nil
	}
	return s.groups.MayFetch(g.Group, text(g.MemberID), g.MemberEpoch)
}

type offsetFetch struct {
	groups *consumer.Groups
	find   finder
}

// topics answers for one group; nil asks for all.
func (f offsetFetch) topics(group string, asked []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	if asked == nil {
		return f.all(group)
	}
	var list []kmsg.OffsetFetchResponseGroupTopic
	seen := map[consumer.TopicPartition]bool{}
	for _, t := range asked {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		name, err := f.find.name(t.Topic, t.TopicID)
		for _, n := range t.Partitions {
			if err != nil {
				p := partitionOffset(n, consumer.Offset{}, false)
				p.ErrorCode = codeOf(err)
				rt.Partitions = append(rt.Partitions, p)
				continue
			}
			place := consumer.TopicPartition{Topic: name, Partition: n}
			if !seen[place] {
				seen[place] = true
				o, ok := f.groups.Committed(group, name, n)
				rt.Partitions = append(rt.Partitions, partitionOffset(n, o, ok))
			}
		}
		list = append(list, rt)
	}
	return list
}

func (f offsetFetch) all(group string) []kmsg.OffsetFetchResponseGroupTopic {
	var list []kmsg.OffsetFetchResponseGroupTopic
	for _, c := range f.groups.Offsets(group) { // ordered by topic
		if len(list) == 0 || list[len(list)-1].Topic != c.Topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			t.Topic = c.Topic
			if f.find.byID {
				if found, ok := f.find.topics.Get(c.Topic); ok {
					t.TopicID = found.ID()
				}
			}
			list = append(list, t)
		}
		t := &list[len(list)-1]
		t.Partitions = append(t.Partitions, partitionOffset(c.Partition, c.Offset, true))
	}
	return list
}

func partitionOffset(n int32, o consumer.Offset, known bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = n, -1, -1
	if known {
		p.Offset, p.LeaderEpoch = o.Offset, o.LeaderEpoch
	}
	p.Metadata = &o.Metadata
	return p
}

// singleGroup turns the answer for a group into the form that it has before version 8.
func singleGroup(topics []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseTopic {
	list := make([]kmsg.OffsetFetchResponseTopic, len(topics))
	for i, t := range topics {
		list[i].Topic = t.Topic
		for _, p := range t.Partitions {
			list[i].Partitions = append(list[i].Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition:   p.Partition,
				Offset:      p.Offset,
				LeaderEpoch: p.LeaderEpoch,
				Metadata:    p.Metadata,
				ErrorCode:   p.ErrorCode,
			})
		}
	}
	return list
}
