package tests

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// peer is one of two servers that are told the same.
type peer struct {
	*wire
	server *harness.Server
	node   int32 // its node id

	ids    map[string]string   // topic id, as it is written in answers, to the topic's name
	topics map[string][16]byte // the same the other way round
	member string              // of the group in the script
	epoch  int32               // its generation
	id     int64               // producer id
}

// step is one request of the script, in several versions.
type step struct {
	name     string
	min, max int16
	ask      func(p *peer, version int16) kmsg.Request
	learn    func(p *peer, answer kmsg.Response) // may be nil
}

// difference is one that is meant: in these steps at these places, which are written without indexes. The reason says why
// our answer is right, or as good.
type difference struct {
	steps, paths []string
	reason       string
}

// TestDifferential plays one script to the broker and to kfake, an independent implementation of the protocol, and
// compares the decoded answers, field by field. What differs is in the table of differences, or a fault.
func TestDifferential(t *testing.T) {
	t.Parallel()
	ours := start(t, options(t, fastGroups, "BROKERD_TOPIC_AUTO_CREATE=false"))
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	peers := []*peer{newPeer(t, ours, 1), newPeer(t, &harness.Server{Kafka: fake.ListenAddrs()[0]}, 0)}
	used := make([]bool, len(differences()))
	requests := 0
	for _, step := range script() {
		for version := step.min; version <= step.max; version++ {
			answers := make([]any, len(peers))
			for i, p := range peers {
				answers[i] = p.play(t, step, version)
			}
			requests++
			for _, d := range compare("", answers[0], answers[1]) {
				if i := justified(step.name, d); i >= 0 {
					used[i] = true
				} else {
					t.Errorf("%s, version %d, %s", step.name, version, d)
				}
			}
		}
	}
	for i, d := range differences() {
		if !used[i] {
			t.Errorf("a difference did not occur: %s", d.reason)
		}
	}
	t.Logf("%d requests in %d steps, %d differences of their own kind", requests, len(script()), len(differences()))
}

func newPeer(t *testing.T, s *harness.Server, node int32) *peer {
	p := &peer{wire: dial(t, s), server: s, node: node, ids: map[string]string{}, topics: map[string][16]byte{}}
	p.knows("no topic", [16]byte{})
	p.knows("nowhere", [16]byte{9})
	return p
}

// knows remembers the id of a topic.
func (p *peer) knows(topic string, id [16]byte) {
	text, _ := json.Marshal(id)
	p.ids[string(text)], p.topics[topic] = topic, id
}

// play sends a request and returns the answer as a tree of maps, slices and values, without what no two servers have in
// common. A connection that is closed is an answer too.
func (p *peer) play(t *testing.T, s step, version int16) any {
	t.Helper()
	answer, err := p.try(version, s.ask(p, version))
	if err != nil {
		p.wire.Close()
		p.wire = dial(t, p.server)
		return "closed"
	}
	if s.learn != nil {
		s.learn(p, answer)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return p.plain("", tree)
}

// plain replaces what belongs to one server: addresses, ids, times, and the words of messages.
func (p *peer) plain(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range maps.Clone(v) {
			switch name {
			case "Version", "ThrottleMillis", "UnknownTags", "ErrorMessage", "Rack":
				delete(v, name)
			default:
				v[name] = p.plain(name, v[name])
			}
		}
		return v
	case []any:
		if field == "TopicID" {
			text, _ := json.Marshal(v)
			name, known := p.ids[string(text)]
			return fmt.Sprint(name, known)
		}
		for i := range v {
			v[i] = p.plain(field, v[i])
		}
		slices.SortStableFunc(v, func(a, b any) int { return cmp.Compare(identity(a), identity(b)) })
		return v
	case json.Number:
		n, _ := v.Int64()
		switch field {
		case "NodeID", "Leader", "LeaderID", "ControllerID", "Replicas", "ISR":
			if n == 0 || n == int64(p.node) { // 0 is also a field that the version does not have
				return "us"
			}
		case "Port", "LastTimestamp", "SessionID":
			return n > 0
		case "ProducerID":
			return n >= 0
		}
		return n
	case string:
		switch field {
		case "Host", "ClientHost", "ClusterID", "Dir", "MemberID", "LeaderID":
			return v != ""
		case "RecordBatches":
			return offsetsOf(v)
		}
	}
	return v
}

// offsetsOf are the offsets of the batches in fetched records, as they are written in JSON.
func offsetsOf(records string) (offsets []any) {
	b, _ := base64.StdEncoding.DecodeString(records)
	for len(b) >= batchHeaderSize {
		base := binary.BigEndian.Uint64(b)
		last := base + uint64(binary.BigEndian.Uint32(b[posBatchLastDelta:]))
		offsets = append(offsets, fmt.Sprint(base, "-", last))
		b = b[min(len(b), 12+int(binary.BigEndian.Uint32(b[posBatchLength:]))):]
	}
	return offsets
}

// identity orders the elements of lists whose order has no meaning.
func identity(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	var parts []string
	for _, field := range []string{"Topic", "Name", "ConfigName", "Group", "ResourceName", "Partition", "ErrorCode"} {
		if v, ok := m[field]; ok && v != nil {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	return strings.Join(parts, " ")
}

// found is a place at which two answers differ.
type found struct {
	path        string
	ours, other any
}

func (f found) String() string { return fmt.Sprintf("%q: ours %v, kfake %v", f.path, f.ours, f.other) }

// compare lists the places at which two trees differ.
func compare(path string, ours, other any) (all []found) {
	switch a := ours.(type) {
	case map[string]any:
		b, ok := other.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			all = append(all, compare(strings.TrimPrefix(path+"."+name, "."), a[name], b[name])...)
		}
		return all
	case []any:
		b, ok := other.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			all = append(all, compare(path, a[i], b[i])...)
		}
		return all
	}
	if a, b := fmt.Sprint(ours), fmt.Sprint(other); a != b && !(empty(ours) && empty(other)) {
		all = append(all, found{path, ours, other})
	}
	return all
}

// empty says that a value is null, or a list without elements: which of them a server sends makes no difference.
func empty(v any) bool {
	list, ok := v.([]any)
	return v == nil || v == "" || ok && len(list) == 0
}

// justified returns the entry of the table of differences that allows one, or -1.
func justified(step string, f found) int {
	return slices.IndexFunc(differences(), func(d difference) bool {
		return slices.Contains(d.steps, step) && slices.Contains(d.paths, f.path)
	})
}
