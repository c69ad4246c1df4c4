package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// SyncGroup (14), versions 0 to 5. The answer waits for the leader, and until the assignment is on disk. Version 5 checks
// that both sides mean the same protocol.

func (s *Server) syncGroup(r *request) answer {
	req := r.body.(*kmsg.SyncGroupRequest)
	sync := &consumer.SyncRequest{
		Group:        req.Group,
		MemberID:     req.MemberID,
		InstanceID:   text(req.InstanceID),
		Generation:   req.Generation,
		ProtocolType: text(req.ProtocolType),
		Protocol:     text(req.Protocol),
		Assignments:  make(map[string][]byte, len(req.GroupAssignment)),
	}
	for _, a := range req.GroupAssignment {
		sync.Assignments[a.MemberID] = owned(a.MemberAssignment)
	}
	wait := s.groups.Sync(sync)
	return later(func(ctx context.Context) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
		synced, code := awaitMembers(ctx, r, wait)
		if resp.ErrorCode = code; code == codeNone {
			resp.ProtocolType, resp.Protocol = &synced.ProtocolType, &synced.Protocol
			resp.MemberAssignment = synced.Assignment
		}
		return resp
	})
}
