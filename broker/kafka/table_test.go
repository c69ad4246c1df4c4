package kafka

import (
	"fmt"
	"os"
	"regexp"
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
		name := kmsg.NameForKey(a.key)
		if a.key == 45 {
			name = "AlterPartitionReassignments" // the codec has a name of its own
		}
		if !strings.EqualFold(name, a.name) {
			t.Errorf("key %d is %s, not %s", a.key, name, a.name)
		}
		if most := kmsg.RequestForKey(a.key).MaxVersion(); a.min < 0 || a.min > a.max || a.max > most {
			t.Errorf("%s: versions %d to %d, the codec knows %d", a.name, a.min, a.max, most)
		}
	}
}

// TestDocumentedTable: the table of docs/kafka.md is this one.
func TestDocumentedTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^(\| \d+ \|[^|]+\|[^|]+\|)`).FindAllString(string(text), -1)
	for i, a := range table() {
		row := fmt.Sprintf("| %d | %s | %d-%d |", a.key, a.name, a.min, a.max)
		if i >= len(rows) || rows[i] != row {
			t.Fatalf("docs/kafka.md lacks %q as row %d", row, i)
		}
	}
	if n := len(table()); len(rows) > n {
		t.Errorf("docs/kafka.md has %q, which is not served", rows[n:])
	}
}
