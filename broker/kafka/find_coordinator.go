package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FindCoordinator (10), versions 0 to 6. This broker coordinates all groups; its address is the one that Metadata gives.
// From version 4 on, one request asks for many keys. Coordinators of transactions and of share groups do not exist here.

const (
	coordinatesGroup       = 0
	coordinatesTransaction = 1
)

func (s *Server) findCoordinator(r *request) answer {
	req := r.body.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 {
		c := s.coordinator(r, req.CoordinatorType, req.CoordinatorKey)
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		return ready(resp)
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, s.coordinator(r, req.CoordinatorType, key))
	}
	return ready(resp)
}

func (s *Server) coordinator(r *request, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key = key
	var err error
	switch kind {
	case coordinatesGroup:
		c.NodeID = s.o.NodeID
		c.Host, c.Port = r.conn.address()
		return c
	case coordinatesTransaction:
		err = errNoTransactions
	default:
		err = faultf(codeInvalidRequest, "there are no coordinators of type %d", kind)
	}
	c.NodeID, c.Port = -1, -1
	c.ErrorCode, c.ErrorMessage = codeOf(err), messageOf(err)
	return c
}
