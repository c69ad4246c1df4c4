package kafka

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DescribeConfigs (32), versions 1 to 4. Topics: every setting, with source, type, synonyms and documentation. The
// broker, named by its id: its own settings and its defaults for topics, read-only. The empty broker name means settings
// that were changed for all brokers of a cluster, of which there are none; nor have groups and clients' metrics any of
// their own. Other kinds of resources do not exist.

func (s *Server) describeConfigs(r *request) answer {
	req := r.body.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	seen := make(map[resource]bool)
	for _, asked := range req.Resources {
		res := resource{asked.ResourceType, asked.ResourceName}
		if seen[res] {
			continue // an answer is much larger than a repeated name
		}
		seen[res] = true
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = asked.ResourceType, asked.ResourceName
		settings, err := s.settingsOf(res)
		for _, set := range settings {
			if asked.ConfigNames == nil || slices.Contains(asked.ConfigNames, set.Name) {
				rr.Configs = append(rr.Configs, describeSetting(set, req, res.kind == kmsg.ConfigResourceTypeBroker))
			}
		}
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), messageOf(err)
		resp.Resources = append(resp.Resources, rr)
	}
	return ready(resp)
}

// resource is something that has settings.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

func (s *Server) settingsOf(res resource) ([]topic.Setting, error) {
	switch {
	case res.kind == kmsg.ConfigResourceTypeTopic:
		t, err := finder{topics: s.topics}.topic(res.name, topic.ID{})
		if err != nil {
			return nil, err
		}
		return t.Settings(), nil
	case res.kind == kmsg.ConfigResourceTypeGroupConfig, res.kind == kmsg.ConfigResourceTypeClientMetrics:
		return nil, nil
	case res.kind != kmsg.ConfigResourceTypeBroker:
		return nil, faultf(codeInvalidRequest, "resources of type %d have no settings here", res.kind)
	case res.name == "":
		return nil, nil
	case res.name == strconv.Itoa(int(s.o.NodeID)):
		return s.brokerSettings(), nil
	}
	return nil, faultf(codeInvalidRequest, "there is no broker %q, this one is %d", res.name, s.o.NodeID)
}

func describeSetting(
	set topic.Setting, req *kmsg.DescribeConfigsRequest, readOnly bool,
) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly = set.Name, &set.Value, readOnly
	c.Source, c.ConfigType = kmsg.ConfigSource(set.Source), kmsg.ConfigType(set.Type)
	if req.IncludeDocumentation && set.Doc != "" {
		c.Documentation = &set.Doc
	}
	if !req.IncludeSynonyms {
		return c
	}
	for _, syn := range set.Synonyms {
		cs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		cs.Name, cs.Value, cs.Source = syn.Name, &syn.Value, kmsg.ConfigSource(syn.Source)
		c.ConfigSynonyms = append(c.ConfigSynonyms, cs)
	}
	return c
}

// brokerSettings are the settings that Kafka's tools look for on a broker.
func (s *Server) brokerSettings() []topic.Setting {
	number := func(name string, typ topic.Type, v int64) topic.Setting {
		return topic.Setting{Name: name, Value: strconv.FormatInt(v, 10), Type: typ, Source: topic.FromBroker}
	}
	l := s.o.Limits
	list := append([]topic.Setting{
		{
			Name: "auto.create.topics.enable", Value: strconv.FormatBool(s.o.AutoCreate),
			Type: topic.Boolean, Source: topic.FromBroker,
		},
		number("broker.id", topic.Int, int64(s.o.NodeID)),
		number("connections.max.idle.ms", topic.Long, l.Idle.Milliseconds()),
		number("default.replication.factor", topic.Int, 1),
		number("fetch.max.bytes", topic.Int, maxFetchBytes),
		number("node.id", topic.Int, int64(s.o.NodeID)),
		number("offsets.topic.replication.factor", topic.Short, 1),
		number("socket.request.max.bytes", topic.Int, int64(l.MaxFrame)),
	}, s.o.Settings...)
	for i, set := range list {
		list[i].Synonyms = []topic.Synonym{{Name: set.Name, Value: set.Value, Source: set.Source}}
	}
	list = append(list, s.topics.BrokerSettings()...)
	slices.SortFunc(list, func(a, b topic.Setting) int { return strings.Compare(a.Name, b.Name) })
	return list
}
