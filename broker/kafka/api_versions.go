package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions (18), versions 0 to 4. A version that we do not know is answered in version 0 with UNSUPPORTED_VERSION
// and the list, so that the client can ask again. The one feature is group.version 1: consumer groups (KIP-848). What
// other features announce, transactions and share groups, is not served.

func (s *Server) apiVersions(r *request) answer {
	req := r.body.(*kmsg.ApiVersionsRequest)
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 && !(softwareName(req.ClientSoftwareName) && softwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = codeInvalidRequest
		return ready(resp)
	}
	resp.ApiKeys = s.apiKeys()
	if req.Version >= 3 && s.apis[keyConsumerGroupHeartbeat] != nil {
		addGroupVersion(resp)
	}
	return ready(resp)
}

// addGroupVersion says that group.version is 1. Versions from 0 on are supported, which version 3 of the answer cannot
// say: clients of that time refuse a minimum of 0 (KIP-1022).
func addGroupVersion(resp *kmsg.ApiVersionsResponse) {
	const name, highest = "group.version", 1
	if resp.Version >= 4 {
		f := kmsg.NewApiVersionsResponseSupportedFeature()
		f.Name, f.MinVersion, f.MaxVersion = name, 0, highest
		resp.SupportedFeatures = append(resp.SupportedFeatures, f)
	}
	f := kmsg.NewApiVersionsResponseFinalizedFeature()
	f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, highest, highest
	resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	resp.FinalizedFeaturesEpoch = 0
}

func (s *Server) unsupportedApiVersions(r *request) answer {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = codeUnsupportedVersion
	resp.ApiKeys = s.apiKeys()
	return ready(resp)
}

func (s *Server) apiKeys() []kmsg.ApiVersionsResponseApiKey {
	var keys []kmsg.ApiVersionsResponseApiKey
	for _, a := range s.apis {
		if a == nil {
			continue
		}
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = a.key, a.advertisedMin(), a.max
		keys = append(keys, k)
	}
	return keys
}

// softwareName says whether v is a legal name or version of a client (KIP-511): letters, digits, and dashes and dots
// inside.
func softwareName(v string) bool {
	for i, c := range []byte(v) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		inside := (c == '-' || c == '.') && i > 0 && i < len(v)-1
		if !letter && !inside {
			return false
		}
	}
	return v != ""
}
