package topic

import (
	"testing"
)

// TestBrokerSettings: the broker's defaults are shown under the broker's names, in order, with their source.
func TestBrokerSettings(t *testing.T) {
	r := &Registry{broker: overrides{"retention.ms": "5"}}
	want := map[string]Setting{
		"log.retention.ms":  {Value: "5", Source: FromBroker},
		"log.segment.bytes": {Value: "1073741824", Source: FromDefault},
		"message.max.bytes": {Value: "1048588", Source: FromDefault},
	}
	last := ""
	for _, s := range r.BrokerSettings() {
		if s.Name <= last {
			t.Errorf("%s follows %s", s.Name, last)
		}
		last = s.Name
		if w, ok := want[s.Name]; ok && (s.Value != w.Value || s.Source != w.Source) {
			t.Errorf("%s is %s from %d, want %s from %d", s.Name, s.Value, s.Source, w.Value, w.Source)
		}
		delete(want, s.Name)
		if s.Name == "leader.replication.throttled.replicas" {
			t.Errorf("%s is shown, which a broker cannot set", s.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
