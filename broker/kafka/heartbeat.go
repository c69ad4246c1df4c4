package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// Heartbeat (12), versions 0 to 4.

func (s *Server) heartbeat(r *request) answer {
	req := r.body.(*kmsg.HeartbeatRequest)
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	member := consumer.MemberRef{MemberID: req.MemberID, InstanceID: text(req.InstanceID)}
	resp.ErrorCode = codeOf(s.groups.Heartbeat(req.Group, member, req.Generation))
	return ready(resp)
}
