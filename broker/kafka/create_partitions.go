package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions (37), versions 0 to 3. The count is the new total. An assignment, which may be null or empty for none,
// may name only this broker.

func (s *Server) createPartitions(r *request) answer {
	req := r.body.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	seen := make(map[string]bool)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewCreatePartitionsResponseTopic()
		rt.Topic = t.Topic
		err := faultf(codeInvalidRequest, "the request names topic %q more than once", t.Topic)
		if !seen[t.Topic] {
			err = s.addPartitions(t, req.ValidateOnly)
		}
		seen[t.Topic] = true
		rt.ErrorCode, rt.ErrorMessage = codeOf(err), messageOf(err)
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

func (s *Server) addPartitions(t *kmsg.CreatePartitionsRequestTopic, validateOnly bool) error {
	found, err := finder{topics: s.topics}.topic(t.Topic, [16]byte{})
	if err != nil {
		return err
	}
	more := int(t.Count) - len(found.Partitions())
	if n := len(t.Assignment); n > 0 && n != more {
		return faultf(codeInvalidReplicaAssignment, "%d partitions are to be added, but %d are assigned", more, n)
	}
	for _, a := range t.Assignment {
		if err := s.checkReplicas(a.Replicas); err != nil {
			return err
		}
	}
	return s.topics.AddPartitions(t.Topic, t.Count, validateOnly)
}
