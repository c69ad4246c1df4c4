package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups (42), versions 0 to 2. A group that has members stays. The answer waits until the others are gone from the
// disk too.

func (s *Server) deleteGroups(r *request) answer {
	req := r.body.(*kmsg.DeleteGroupsRequest)
	wait := s.groups.Delete(req.Groups)
	return later(func(ctx context.Context) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
		errs, err := wait(ctx)
		for i, id := range req.Groups {
			rg := kmsg.NewDeleteGroupsResponseGroup()
			rg.Group, rg.ErrorCode = id, codeOf(errs[i])
			if err != nil {
				rg.ErrorCode = codeOf(err)
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp
	})
}
