package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// LeaveGroup (13), versions 0 to 5. From version 3 on it names many members, a static one also by its instance id alone:
// this is how administrators remove members.

func (s *Server) leaveGroup(r *request) answer {
	req := r.body.(*kmsg.LeaveGroupRequest)
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	var members []consumer.MemberRef
	if req.Version < 3 {
		members = append(members, consumer.MemberRef{MemberID: req.MemberID})
	}
	for _, m := range req.Members {
		members = append(members, consumer.MemberRef{MemberID: m.MemberID, InstanceID: text(m.InstanceID)})
	}
	errs, err := s.groups.Leave(req.Group, members)
	if err != nil {
		resp.ErrorCode = codeOf(err)
		return ready(resp)
	}
	if req.Version < 3 {
		resp.ErrorCode = codeOf(errs[0])
		return ready(resp)
	}
	for i, m := range members {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ErrorCode = m.MemberID, nullable(m.InstanceID), codeOf(errs[i])
		resp.Members = append(resp.Members, rm)
	}
	return ready(resp)
}
