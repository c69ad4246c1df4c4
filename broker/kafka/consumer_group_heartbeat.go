package kafka

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// ConsumerGroupHeartbeat (68), versions 0 and 1 (KIP-848): members of groups in which the broker assigns join, stay and
// leave by it. In version 1 the member makes its id and may subscribe by a regular expression. The answer waits until the
// assignment is on disk.

func (s *Server) consumerGroupHeartbeat(r *request) answer {
	req := r.body.(*kmsg.ConsumerGroupHeartbeatRequest)
	if err := checkHeartbeat(req); err != nil {
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
		return ready(resp)
	}
	beat := &consumer.HeartbeatRequest{
		Group:            req.Group,
		MemberID:         req.MemberID,
		Epoch:            req.MemberEpoch,
		InstanceID:       text(req.InstanceID),
		RackID:           text(req.RackID),
		ClientID:         r.clientID,
		Host:             r.clientHost(),
		RebalanceTimeout: time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		Topics:           req.SubscribedTopicNames,
		Regex:            req.SubscribedTopicRegex,
		Assignor:         text(req.ServerAssignor),
	}
	if req.Topics != nil {
		beat.Owned = make([]consumer.Assigned, len(req.Topics))
	}
	for i, t := range req.Topics {
		beat.Owned[i] = consumer.Assigned{Topic: t.TopicID, Partitions: t.Partitions}
	}
	wait := s.groups.ConsumerHeartbeat(beat)
	return later(func(ctx context.Context) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		beaten, err := wait(ctx)
		if err != nil {
			resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
			return resp
		}
		fillHeartbeat(resp, beaten)
		return resp
	})
}

// checkHeartbeat refuses what only the protocol can tell apart: texts that are there, but empty.
func checkHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) error {
	for _, given := range []*string{req.InstanceID, req.RackID} {
		if given != nil && strings.TrimSpace(*given) == "" {
			return faultf(codeInvalidRequest, "an instance id or rack id that is given must not be empty")
		}
	}
	if req.Version >= 1 && req.MemberID == "" {
		return faultf(codeInvalidRequest, "a member makes its own id from version 1 on")
	}
	return nil
}

func fillHeartbeat(resp *kmsg.ConsumerGroupHeartbeatResponse, beaten *consumer.HeartbeatResponse) {
	resp.MemberID, resp.MemberEpoch = &beaten.MemberID, beaten.Epoch
	resp.HeartbeatIntervalMillis = int32(beaten.Each.Milliseconds())
	if beaten.Assignment == nil {
		return
	}
	resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	for _, a := range beaten.Assignment {
		t := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		t.TopicID, t.Partitions = a.Topic, a.Partitions
		resp.Assignment.Topics = append(resp.Assignment.Topics, t)
	}
}
