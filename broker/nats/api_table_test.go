package nats

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedTable: the table of docs/nats.md is this one.
func TestDocumentedTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	for i, e := range endpoints() {
		row := fmt.Sprintf("| `%s` | ", e.pattern)
		if e.answers != "" {
			row += fmt.Sprintf("`%s` |", e.answers)
		}
		if i >= len(rows) || !strings.HasPrefix(rows[i], row) {
			t.Fatalf("docs/nats.md lacks %q as row %d", row, i)
		}
	}
	if n := len(endpoints()); len(rows) > n {
		t.Errorf("docs/nats.md has %q, which is not served", rows[n:])
	}
}
