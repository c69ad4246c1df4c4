package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/consumer"
)

// JoinGroup (11), versions 0 to 9. Version 0 has no rebalance timeout: the session timeout takes its place. From version
// 4 on a new member first gets an id and joins again with it (KIP-394). Version 9 can tell a static leader that came back
// not to assign again.

func (s *Server) joinGroup(r *request) answer {
	req := r.body.(*kmsg.JoinGroupRequest)
	join := &consumer.JoinRequest{
		Group:            req.Group,
		MemberID:         req.MemberID,
		InstanceID:       text(req.InstanceID),
		ClientID:         r.clientID,
		Host:             r.clientHost(),
		ProtocolType:     req.ProtocolType,
		SessionTimeout:   time.Duration(req.SessionTimeoutMillis) * time.Millisecond,
		RebalanceTimeout: time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		RequireMemberID:  req.Version >= 4,
		CanSkip:          req.Version >= 9,
	}
	for _, p := range req.Protocols {
		join.Protocols = append(join.Protocols, consumer.Protocol{Name: p.Name, Metadata: owned(p.Metadata)})
	}
	wait := s.groups.Join(join)
	return later(func(ctx context.Context) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
		joined, code := awaitMembers(ctx, r, wait)
		resp.ErrorCode = code
		resp.MemberID, resp.Generation = req.MemberID, -1
		if code == codeMemberIDRequired {
			resp.MemberID = joined.MemberID
		}
		if code == codeNone {
			fillJoin(resp, joined)
		}
		return resp
	})
}

func fillJoin(resp *kmsg.JoinGroupResponse, joined *consumer.JoinResponse) {
	resp.Generation = joined.Generation
	resp.ProtocolType, resp.Protocol = &joined.ProtocolType, &joined.Protocol
	resp.LeaderID, resp.MemberID = joined.Leader, joined.MemberID
	resp.SkipAssignment = joined.SkipAssignment
	for _, m := range joined.Members {
		rm := kmsg.NewJoinGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = m.MemberID, nullable(m.InstanceID), m.Metadata
		resp.Members = append(resp.Members, rm)
	}
}
