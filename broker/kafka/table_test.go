package kafka

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestTable: keys are named as the protocol names them, in order, and the codec knows all versions.
func TestTable(t *testing.T) {
	last := int16(-1)
	for _, a := range table() {
		if a.key <= last || a.key > maxKey {
			t.Errorf("key %d follows %d", a.key, last)
		}
		last = a.key
		if name := kmsg.NameForKey(a.key); !strings.EqualFold(name, a.name) {
			t.Errorf("key %d is %s, not %s", a.key, name, a.name)
		}
		if most := kmsg.RequestForKey(a.key).MaxVersion(); a.min < 0 || a.min > a.max || a.max > most {
			t.Errorf("%s: versions %d to %d, the codec knows %d", a.name, a.min, a.max, most)
		}
	}
}

// TestDocumentedTable: docs/kafka.md lists what is served.
func TestDocumentedTable(t *testing.T) {
	b, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range table() {
		if row := fmt.Sprintf("| %d | %s | %d-%d |", a.key, a.name, a.min, a.max); !strings.Contains(string(b), row) {
			t.Errorf("docs/kafka.md has no row %q", row)
		}
	}
}
