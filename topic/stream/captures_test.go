package stream

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brokerd/topic/subject"
)

// TestPartitionOf has the hashes of Kafka's own test of its partitioner.
func TestPartitionOf(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestCapturesOfTopics(t *testing.T) {
	stream := func() *entry { return new(entry) }
	own, one, deep := []*entry{stream()}, []*entry{stream()}, []*entry{stream()}
	many := []*entry{stream(), stream(), stream()}
	c := newCaptures()
	c.add("orders.eu.*", own[0])
	c.addTopic("orders", one)
	c.addTopic("orders.us", deep)
	c.addTopic("many", many)
	for _, w := range []struct {
		subject string
		want    []*entry
	}{
		{"orders", one},
		{"orders.1", one},
		{"orders.a.b.c", one},
		{"orders.eu.1", own}, // streams go first
		{"orders.eu", one},
		{"orders.us", deep}, // and the longest name
		{"orders.us.1", deep},
		{"orders1", nil},
		{"order", nil},
		{"many", many},
		{"many.key", many[partitionOf("key", 3):][:1]},
		{"many.a.b", many[partitionOf("a.b", 3):][:1]},
		{"", nil},
		{".", nil},
		{"orders.", one},
		{"x" + strings.Repeat(".y", 5000), nil},
	} {
		got := c.find(w.subject)
		found := got == nil && w.want == nil
		for _, s := range w.want {
			found = found || s == got
		}
		if !found {
			t.Errorf("%.20q went to another stream", w.subject)
		}
	}
}

// Of streams whose subjects do not overlap, the one is found that has a filter which matches.
func TestCapturesMatch(t *testing.T) {
	filter := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 1, 3).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "open") {
			tokens[len(tokens)-1] = ">"
		}
		return strings.Join(tokens, ".")
	})
	literal := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 4).Draw(t, "literal"), ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		c := newCaptures()
		streams := make(map[string]*entry)
	next:
		for _, f := range rapid.SliceOf(filter).Draw(t, "filters") {
			for other := range streams {
				if subject.Overlap(f, other) {
					continue next
				}
			}
			streams[f] = new(entry)
			c.add(f, streams[f])
		}
		s := literal.Draw(t, "subject")
		var want *entry
		for f, stream := range streams {
			if subject.Match(f, s) {
				want = stream
			}
		}
		if got := c.find(s); got != want {
			t.Fatalf("%s is not found among %v", s, streams)
		}
	})
}
