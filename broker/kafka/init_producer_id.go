package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId (22), versions 0 to 4, for idempotent producers. A transactional id is refused with
// TRANSACTIONAL_ID_AUTHORIZATION_FAILED, because transactions are not served: of the errors that clients know here, it is
// the one that all of them report at once, where COORDINATOR_NOT_AVAILABLE would be retried until a timeout.

// errNoTransactions answers whoever wants a transaction.
var errNoTransactions = faultf(codeTransactionalIDDenied, "transactions are not available on this broker")

func (s *Server) initProducerID(r *request) answer {
	req := r.body.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		resp.ErrorCode = codeOf(errNoTransactions)
		return ready(resp)
	}
	return later(func(ctx context.Context) kmsg.Response {
		id, err := s.ids.Next(ctx)
		if err != nil {
			s.log.Error().Err(err).Msg("no producer id could be given out; clients will ask again")
			resp.ErrorCode = codeCoordinatorNotAvailable
			return resp
		}
		resp.ProducerID, resp.ProducerEpoch = id, 0
		return resp
	})
}
