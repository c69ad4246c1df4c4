package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// AlterConfigs (33), versions 0 to 2, replaces all settings of a topic; IncrementalAlterConfigs (44), versions 0 and 1,
// changes some of them (KIP-339). The broker's settings come from its configuration file and are read-only: a change is
// refused as Kafka refuses one of a setting that needs a restart.

func (s *Server) alterConfigs(r *request) answer {
	req := r.body.(*kmsg.AlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	seen := make(map[resource]bool)
	for _, asked := range req.Resources {
		res := resource{asked.ResourceType, asked.ResourceName}
		err := s.alterable(res, seen)
		settings := make(map[string]string)
		for _, c := range asked.Configs {
			if c.Value == nil {
				err = faultf(codeInvalidConfig, "setting %s has no value", c.Name)
				break
			}
			settings[c.Name] = *c.Value
		}
		if err == nil {
			err = s.topics.Replace(res.name, settings, req.ValidateOnly)
		}
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = res.kind, res.name
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), messageOf(err)
		resp.Resources = append(resp.Resources, rr)
	}
	return ready(resp)
}

// alterable refuses what is no topic, and what the request has named before.
func (s *Server) alterable(res resource, seen map[resource]bool) error {
	if seen[res] {
		return faultf(codeInvalidRequest, "the request names resource %q more than once", res.name)
	}
	seen[res] = true
	switch res.kind {
	case kmsg.ConfigResourceTypeTopic:
		return nil
	case kmsg.ConfigResourceTypeBroker:
		return faultf(codeInvalidRequest, "settings of the broker are read-only: change its configuration file and restart it")
	}
	return faultf(codeInvalidRequest, "resources of type %d have no settings here", res.kind)
}

func (s *Server) incrementalAlterConfigs(r *request) answer {
	req := r.body.(*kmsg.IncrementalAlterConfigsRequest)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	seen := make(map[resource]bool)
	for _, asked := range req.Resources {
		res := resource{asked.ResourceType, asked.ResourceName}
		err := s.alterable(res, seen)
		if res.kind == kmsg.ConfigResourceTypeBroker && resetsOnly(asked.Configs) {
			err = nil
		} else if err == nil {
			var changes []topic.Change
			if changes, err = changesOf(asked.Configs); err == nil {
				err = s.topics.Alter(res.name, changes, req.ValidateOnly)
			}
		}
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = res.kind, res.name
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), messageOf(err)
		resp.Resources = append(resp.Resources, rr)
	}
	return ready(resp)
}

// resetsOnly is whether settings are only put back to their defaults. For the broker that changes nothing, as none can be
// changed: Kafka's tool for reassignments asks for it when it has done its work, and must not fail then.
func resetsOnly(configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) bool {
	return len(configs) > 0 && !slices.ContainsFunc(configs,
		func(c kmsg.IncrementalAlterConfigsRequestResourceConfig) bool {
			return c.Op != kmsg.IncrementalAlterConfigOpDelete
		})
}

func changesOf(configs []kmsg.IncrementalAlterConfigsRequestResourceConfig) ([]topic.Change, error) {
	seen := make(map[string]bool, len(configs))
	var changes []topic.Change
	for _, c := range configs {
		change := topic.Change{Key: c.Name, Op: topic.Op(c.Op)}
		switch {
		case seen[c.Name]:
			return nil, faultf(codeInvalidRequest, "setting %s is changed more than once", c.Name)
		case change.Op < topic.Set || change.Op > topic.Subtract:
			return nil, faultf(codeInvalidRequest, "setting %s: there is no operation %d", c.Name, c.Op)
		case c.Value != nil:
			change.Value = *c.Value
		case change.Op != topic.Unset:
			return nil, faultf(codeInvalidConfig, "setting %s has no value", c.Name)
		}
		seen[c.Name] = true
		changes = append(changes, change)
	}
	return changes, nil
}
