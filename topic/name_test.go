package topic

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "orders", "A.b_c-9", "...", "__consumer_offsets", "-", strings.Repeat("x", 249)} {
		if err := checkName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a b", "a/b", "a\\b", "ä", "a\x00", "a\n", "topic:1", "%", strings.Repeat("x", 250)} {
		if err := checkName(name); !errors.Is(err, ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNewID(t *testing.T) {
	seen := make(map[ID]bool)
	for range 1000 {
		id := newID()
		if seen[id] || id == (ID{}) || id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Fatalf("id %v", id)
		}
		seen[id] = true
	}
	if got := (ID{0x12, 0x34, 0x56, 0x78, 0x9a, 15: 0xff}).String(); got != "12345678-9a00-0000-0000-0000000000ff" {
		t.Errorf("written as %s", got)
	}
}
