package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// Metadata (3), versions 0 to 13. One broker, which leads everything and is the controller; its address is the one that
// the client connected to, unless another one is configured. A null list of topics means all of them (in version 0, which
// has no null, an empty one does). A missing topic is created when the client asks for it and the broker allows it.

// maxCreations bounds the topics that one request may create.
const maxCreations = 1000

func (s *Server) metadata(r *request) answer {
	req := r.body.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID = s.o.NodeID
	b.Host, b.Port = r.conn.address()
	resp.Brokers = append(resp.Brokers, b)
	resp.ClusterID = kmsg.StringPtr(s.o.ClusterID)
	resp.ControllerID = s.o.NodeID
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range s.topics.List() {
			resp.Topics = append(resp.Topics, s.describe(t, req))
		}
		return ready(resp)
	}
	c := creator{s: s, allowed: s.o.AutoCreate && (req.AllowAutoTopicCreation || req.Version < 4)}
	seen := make(map[topicKey]bool)
	for _, asked := range req.Topics {
		key := topicKey{id: asked.TopicID}
		if asked.Topic != nil {
			key.name = *asked.Topic
		}
		if !seen[key] { // an answer is much larger than a repeated name
			seen[key] = true
			resp.Topics = append(resp.Topics, s.metadataTopic(req, asked, &c))
		}
	}
	return ready(resp)
}

// topicKey is a topic as a request names it.
type topicKey struct {
	id   [16]byte
	name string
}

func (s *Server) metadataTopic(req *kmsg.MetadataRequest, asked kmsg.MetadataRequestTopic, c *creator) kmsg.MetadataResponseTopic {
	m := kmsg.NewMetadataResponseTopic()
	m.Topic, m.TopicID = asked.Topic, asked.TopicID
	if asked.Topic == nil || *asked.Topic == "" && asked.TopicID != [16]byte{} {
		t, ok := s.topics.ByID(asked.TopicID)
		if !ok {
			m.ErrorCode = codeUnknownTopicID
			return m
		}
		return s.describe(t, req)
	}
	t, err := c.get(*asked.Topic)
	if err != nil {
		m.ErrorCode = codeOf(err)
		return m
	}
	return s.describe(t, req)
}

// creator finds topics, and makes missing ones as far as that is allowed.
type creator struct {
	s       *Server
	allowed bool
	made    int
}

func (c *creator) get(name string) (*topic.Topic, error) {
	if t, ok := c.s.topics.Get(name); ok {
		return t, nil
	}
	if !c.allowed || c.made >= maxCreations {
		return nil, topic.ErrNotFound
	}
	c.made++
	t, err := c.s.topics.Create(topic.Spec{Name: name, Partitions: -1})
	if errors.Is(err, topic.ErrExists) { // by another connection, meanwhile
		if t, ok := c.s.topics.Get(name); ok {
			return t, nil
		}
	}
	if err != nil && !errors.Is(err, topic.ErrBadName) { // which is the client's affair
		c.s.log.Warn().Err(err).Str("topic", name).Msg("a topic that a client asked for could not be created")
	}
	return t, err
}

func (s *Server) describe(t *topic.Topic, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	m := kmsg.NewMetadataResponseTopic()
	m.Topic, m.TopicID = kmsg.StringPtr(t.Name()), t.ID()
	if req.IncludeTopicAuthorizedOperations {
		m.AuthorizedOperations = topicOperations
	}
	us := []int32{s.o.NodeID}
	for _, p := range t.Partitions() {
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Partition = p.Index()
		mp.Leader, mp.LeaderEpoch = s.o.NodeID, p.Epoch()
		mp.Replicas, mp.ISR = us, us
		m.Partitions = append(m.Partitions, mp)
	}
	return m
}
