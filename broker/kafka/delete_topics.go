package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DeleteTopics (20), versions 1 to 6: by name, and from version 6 on by name or id.

func (s *Server) deleteTopics(r *request) answer {
	req := r.body.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	if req.Version < 6 {
		for _, name := range req.TopicNames {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
	}
	for _, t := range req.Topics {
		rt := kmsg.NewDeleteTopicsResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		found, err := s.topicToDelete(t)
		if err == nil {
			name := found.Name()
			rt.Topic, rt.TopicID = &name, found.ID()
			err = s.topics.Delete(name)
		}
		rt.ErrorCode, rt.ErrorMessage = codeOf(err), messageOf(err)
		resp.Topics = append(resp.Topics, rt)
	}
	return ready(resp)
}

func (s *Server) topicToDelete(t kmsg.DeleteTopicsRequestTopic) (*topic.Topic, error) {
	byID := t.TopicID != [16]byte{}
	if byID == (t.Topic != nil) {
		return nil, faultf(codeInvalidRequest, "a topic to delete is named either by its name or by its id")
	}
	name := ""
	if t.Topic != nil {
		name = *t.Topic
	}
	return finder{s.topics, byID}.topic(name, t.TopicID)
}
