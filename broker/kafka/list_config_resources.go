package kafka

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListConfigResources (74), versions 0 and 1 (KIP-1142): what DescribeConfigs can be asked about. Version 0 asks for
// clients' metrics subscriptions only. There are none of those, and no loggers or groups with settings.

func (s *Server) listConfigResources(r *request) answer {
	req := r.body.(*kmsg.ListConfigResourcesRequest)
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	kinds := req.ResourceTypes
	if req.Version == 0 {
		kinds = []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}
	} else if len(kinds) == 0 {
		kinds = []int8{int8(kmsg.ConfigResourceTypeTopic), int8(kmsg.ConfigResourceTypeBroker)}
	}
	add := func(kind int8, name string) {
		resp.ConfigResources = append(resp.ConfigResources,
			kmsg.ListConfigResourcesResponseConfigResource{Type: kind, Name: name})
	}
	seen := make(map[int8]bool)
	for _, kind := range kinds {
		if seen[kind] {
			continue
		}
		seen[kind] = true
		switch kmsg.ConfigResourceType(kind) {
		case kmsg.ConfigResourceTypeTopic:
			for _, t := range s.topics.List() {
				add(kind, t.Name())
			}
		case kmsg.ConfigResourceTypeBroker:
			add(kind, strconv.Itoa(int(s.o.NodeID)))
		case kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
		default:
			resp.ErrorCode, resp.ConfigResources = codeUnsupportedVersion, nil
			return ready(resp)
		}
	}
	return ready(resp)
}
