package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// CreateTopics (19), versions 2 to 7. There is one replica of everything: any replication factor is accepted, so that
// programs written for a cluster start, and 1 is reported. Explicit assignments may name only this broker. The answer
// comes when the topic survives a crash; its settings are in it from version 5 on.

func (s *Server) createTopics(r *request) answer {
	req := r.body.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	times := make(map[string]int)
	for _, t := range req.Topics {
		times[t.Topic]++
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if times[t.Topic] == 0 {
			continue // reported already
		}
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic = t.Topic
		var err error
		switch {
		case times[t.Topic] > 1:
			err = faultf(codeInvalidRequest, "the request names topic %q more than once", t.Topic)
		case len(resp.Topics) >= maxCreations:
			err = faultf(codeInvalidRequest, "at most %d topics can be created by one request", maxCreations)
		default:
			err = s.createTopic(req, t, &rt)
		}
		times[t.Topic] = 0
		rt.ErrorCode, rt.ErrorMessage = codeOf(err), messageOf(err)
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

func (s *Server) createTopic(
	req *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic, resp *kmsg.CreateTopicsResponseTopic,
) error {
	spec := topic.Spec{
		Name: t.Topic, Partitions: t.NumPartitions, Settings: make(map[string]string), ValidateOnly: req.ValidateOnly,
	}
	if len(t.ReplicaAssignment) > 0 {
		if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
			return faultf(codeInvalidRequest, "with an assignment, the partitions and the replication factor must be -1")
		}
		if err := s.checkAssignment(t.ReplicaAssignment); err != nil {
			return err
		}
		spec.Partitions = int32(len(t.ReplicaAssignment))
	} else if t.ReplicationFactor == 0 || t.ReplicationFactor < -1 {
		return faultf(codeInvalidReplicationFactor, "replication factor is %d, must be -1 or at least 1", t.ReplicationFactor)
	}
	for _, c := range t.Configs {
		if c.Value == nil {
			return faultf(codeInvalidConfig, "setting %s has no value", c.Name)
		}
		if _, twice := spec.Settings[c.Name]; twice {
			return faultf(codeInvalidConfig, "setting %s is given twice", c.Name)
		}
		spec.Settings[c.Name] = *c.Value
	}
	made, err := s.topics.Create(spec)
	if err != nil || made == nil {
		return err
	}
	s.describeCreated(made, resp)
	return nil
}

// checkAssignment accepts partitions 0, 1, 2, ... on this broker.
func (s *Server) checkAssignment(as []kmsg.CreateTopicsRequestTopicReplicaAssignment) error {
	seen := make(map[int32]bool, len(as))
	for _, a := range as {
		if a.Partition < 0 || int(a.Partition) >= len(as) || seen[a.Partition] {
			return faultf(codeInvalidReplicaAssignment, "assigned partitions must be 0 to %d, each once", len(as)-1)
		}
		seen[a.Partition] = true
		if err := s.checkReplicas(a.Replicas); err != nil {
			return err
		}
	}
	return nil
}

// checkReplicas accepts exactly this broker.
func (s *Server) checkReplicas(replicas []int32) error {
	if len(replicas) != 1 || replicas[0] != s.o.NodeID {
		return faultf(codeInvalidReplicaAssignment, "replicas are %v, but broker %d is the only one", replicas, s.o.NodeID)
	}
	return nil
}

func (s *Server) describeCreated(t *topic.Topic, resp *kmsg.CreateTopicsResponseTopic) {
	resp.TopicID = t.ID()
	resp.NumPartitions, resp.ReplicationFactor = int32(len(t.Partitions())), 1
	for _, set := range t.Settings() {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = set.Name, &set.Value, int8(set.Source)
		resp.Configs = append(resp.Configs, c)
	}
}
