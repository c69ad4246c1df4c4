package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// AlterConfigs (33), versions 0 to 2, replaces all settings of a topic; IncrementalAlterConfigs (44), versions 0 and 1,
// changes some of them (KIP-339). The broker's settings come from its configuration file and are read-only: a change is
// refused as Kafka refuses one of a setting that needs a restart. To unset what was never changed at run time, as tools do
// when they clean up, changes nothing.

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
		switch {
		case err != nil:
		case res.kind == kmsg.ConfigResourceTypeBroker && len(settings) > 0:
			err = errReadOnly
		case res.kind == kmsg.ConfigResourceTypeTopic:
			err = s.topics.Replace(res.name, settings, req.ValidateOnly)
		}
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = res.kind, res.name
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), messageOf(err)
		resp.Resources = append(resp.Resources, rr)
	}
	return ready(resp)
}

// errReadOnly refuses a change of the broker's settings.
var errReadOnly = faultf(codeInvalidRequest, "settings of the broker are read-only: change its configuration file and restart it")

// alterable refuses what has no settings, and what the request has named before.
func (s *Server) alterable(res resource, seen map[resource]bool) error {
	if seen[res] {
		return faultf(codeInvalidRequest, "the request names resource %q more than once", res.name)
	}
	seen[res] = true
	switch res.kind {
	case kmsg.ConfigResourceTypeTopic:
		return nil
	case kmsg.ConfigResourceTypeBroker:
		_, err := s.settingsOf(res)
		return err
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
		if err == nil {
			err = s.change(res, asked.Configs, req.ValidateOnly)
		}
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = res.kind, res.name
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), messageOf(err)
		resp.Resources = append(resp.Resources, rr)
	}
	return ready(resp)
}

// change applies changes to a topic. On the broker nothing was ever changed, so that unsetting is all that can be done.
func (s *Server) change(res resource, configs []kmsg.IncrementalAlterConfigsRequestResourceConfig, validateOnly bool) error {
	changes, err := changesOf(configs)
	if err != nil {
		return err
	}
	if res.kind == kmsg.ConfigResourceTypeTopic {
		return s.topics.Alter(res.name, changes, validateOnly)
	}
	if slices.ContainsFunc(changes, func(c topic.Change) bool { return c.Op != topic.Unset }) {
		return errReadOnly
	}
	return nil
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
