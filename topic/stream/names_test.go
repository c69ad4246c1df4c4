package stream

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTopicName(t *testing.T) {
	for name, want := range map[string]string{
		"ORDERS":                 "ORDERS",
		"KV_a-b":                 "KV_a-b",
		"caf\u00e9":              "stream--caf-C3-A9",
		"a-b$":                   "stream--a-2Db-24",
		"stream--a":              "stream--stream-2D-2Da",
		strings.Repeat("n", 249): strings.Repeat("n", 249),
	} {
		if got := topicName(name); got != want {
			t.Errorf("topicName(%q) = %q, want %q", name, got, want)
		}
	}
}

// Every name that a stream may have gives a name that a topic may have, and no other stream's.
func TestTopicNamesAreDistinct(t *testing.T) {
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,249}$`)
	name := rapid.OneOf(
		rapid.StringMatching(`[a-c$é-]{1,4}`), rapid.StringMatching(`stream--[a-f0-9A-F-]{0,5}`),
		rapid.StringMatching(`[ab$]{240,255}`), rapid.StringN(1, 40, 255),
	).Filter(validName)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if got := topicName(a); !legal.MatchString(got) {
			t.Fatalf("topicName(%q) = %q", a, got)
		}
		if a != b && topicName(a) == topicName(b) {
			t.Fatalf("%q and %q are both %q", a, b, topicName(a))
		}
	})
}
