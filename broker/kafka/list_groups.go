package kafka

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups (16), versions 0 to 5: by state from version 4 on (KIP-518), by type from version 5 on: classic, or
// consumer for groups in which the broker assigns (KIP-848).

func (s *Server) listGroups(r *request) answer {
	req := r.body.(*kmsg.ListGroupsRequest)
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	for _, g := range s.groups.List() {
		if !admits(req.TypesFilter, g.Type) || !admits(req.StatesFilter, g.State.String()) {
			continue
		}
		rg := kmsg.NewListGroupsResponseGroup()
		rg.Group, rg.ProtocolType = g.Group, g.ProtocolType
		rg.GroupState, rg.GroupType = g.State.String(), g.Type
		resp.Groups = append(resp.Groups, rg)
	}
	return ready(resp)
}

// admits says whether a filter lets a value through; an empty one lets all.
func admits(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}
