package tests

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// S3: IncrementalAlterConfigs appends to and subtracts from lists, and whatever else it is asked is refused. One refusal
// changes nothing, and no request after it fails.
func TestS03AppendAndSubtract(t *testing.T) {
	t.Parallel()
	const topic = "s03"
	const set, unset, add, subtract = 0, 1, 2, 3
	s := start(t, options(t))
	create(t, client(t, s), topic, 1, nil)
	w := dial(t, s)
	text := func(v string) *string { return &v }
	tests := []struct {
		name  string
		key   string
		op    int8
		value *string
		want  *kerr.Error
		after string // cleanup.policy
	}{
		{"append to the default", "cleanup.policy", add, text("compact"), nil, "delete,compact"},
		{"append what is there", "cleanup.policy", add, text("compact"), nil, "delete,compact"},
		{"subtract", "cleanup.policy", subtract, text("delete"), nil, "compact"},
		{"subtract what is not there", "cleanup.policy", subtract, text("delete"), nil, "compact"},
		{"append an unknown item", "cleanup.policy", add, text("burn"), kerr.InvalidConfig, "compact"},
		{"append nothing", "cleanup.policy", add, nil, kerr.InvalidConfig, "compact"},
		{"append to a number", "retention.ms", add, text("1"), kerr.InvalidConfig, "compact"},
		{"subtract from a number", "retention.ms", subtract, text("1"), kerr.InvalidConfig, "compact"},
		{"append to what does not exist", "no.such.setting", add, text("1"), kerr.InvalidConfig, "compact"},
		{"another operation", "cleanup.policy", 9, text("delete"), kerr.InvalidRequest, "compact"},
		{"delete", "cleanup.policy", unset, nil, nil, "delete"},
		{"delete again", "cleanup.policy", unset, nil, nil, "delete"},
		{"set a list", "cleanup.policy", set, text("compact, delete"), nil, "compact,delete"},
		{"set", "cleanup.policy", set, text("delete"), nil, "delete"},
	}
	for _, test := range tests {
		for _, validateOnly := range []bool{true, false} {
			before := described(t, w, topic)
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.ValidateOnly = validateOnly
			req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
				ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
				Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
					{Name: test.key, Op: kmsg.IncrementalAlterConfigOp(test.op), Value: test.value},
				},
			}}
			got := w.ask(t, 1, req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
			if got.ErrorCode != codeOf(test.want) {
				t.Errorf("%s: error %d, want %v", test.name, got.ErrorCode, test.want)
			}
			after := described(t, w, topic)
			if validateOnly && after["cleanup.policy"] != before["cleanup.policy"] {
				t.Errorf("%s: only validated, but cleanup.policy became %s", test.name, after["cleanup.policy"])
			}
			if !validateOnly && after["cleanup.policy"] != test.after {
				t.Errorf("%s: cleanup.policy is %s, want %s", test.name, after["cleanup.policy"], test.after)
			}
		}
	}
	s = restart(t, s)
	if got := described(t, dial(t, s), topic)["cleanup.policy"]; got != "delete" {
		t.Errorf("after a restart cleanup.policy is %s", got)
	}
}

// S3: settings of the broker are refused with a reason, and the requests after it are served.
func TestS03BrokerSettingsAreReadOnly(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	w := dial(t, s)
	value := "1"
	for _, node := range []string{"1", ""} {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: node,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "log.retention.ms", Value: &value}},
		}}
		got := w.ask(t, 1, req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
		if got.ErrorCode != kerr.InvalidRequest.Code || got.ErrorMessage == nil {
			t.Errorf("broker %q: error %d, %v", node, got.ErrorCode, got.ErrorMessage)
		}
		old := kmsg.NewPtrAlterConfigsRequest()
		old.Resources = []kmsg.AlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: node,
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "log.retention.ms", Value: &value}},
		}}
		if got := w.ask(t, 2, old).(*kmsg.AlterConfigsResponse).Resources[0]; got.ErrorCode != kerr.InvalidRequest.Code {
			t.Errorf("broker %q, all settings: error %d", node, got.ErrorCode)
		}
	}
}

// described are the settings of a topic by name; there must be as many as Kafka has.
func described(t *testing.T, w *wire, topic string) map[string]string {
	t.Helper()
	return describedResource(t, w, kmsg.ConfigResourceTypeTopic, topic)
}

func describedResource(t *testing.T, w *wire, kind kmsg.ConfigResourceType, name string) map[string]string {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name}}
	got := w.ask(t, 4, req).(*kmsg.DescribeConfigsResponse).Resources[0]
	if got.ErrorCode != 0 || len(got.Configs) < 30 {
		t.Fatalf("describe %q: error %d, %d settings", name, got.ErrorCode, len(got.Configs))
	}
	values := map[string]string{}
	for _, c := range got.Configs {
		undocumented := kind == kmsg.ConfigResourceTypeTopic && c.Documentation == nil
		if c.Value == nil || len(c.ConfigSynonyms) == 0 || c.ConfigType == 0 || c.Source == 0 || undocumented {
			t.Errorf("setting %s of %q is incomplete: %+v", c.Name, name, c)
		} else {
			values[c.Name] = *c.Value
		}
	}
	return values
}
