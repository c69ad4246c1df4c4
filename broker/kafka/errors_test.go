package kafka

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"brokerd/log"
	"brokerd/topic"
)

// TestEveryErrorHasACode: each exported error value of the packages below is in errorCodes, with a code that exists.
func TestEveryErrorHasACode(t *testing.T) {
	mapped := make(map[string]bool)
	for _, e := range errorCodes {
		mapped[e.err.Error()] = true
		if err := kerr.ErrorForCode(e.code); err == nil || err == kerr.UnknownServerError {
			t.Errorf("%v: there is no code %d", e.err, e.code)
		}
	}
	found := 0
	for _, dir := range []string{"../../log", "../../topic", "../../producer", "../../consumer"} {
		for name, text := range sentinels(t, dir) {
			found++
			if !mapped[text] {
				t.Errorf("%s: %s (%q) has no code", dir, name, text)
			}
		}
	}
	if found < 10 {
		t.Fatalf("only %d error values found", found)
	}
}

// sentinels returns the exported variables of a package that are set by errors.New, with their texts.
func sentinels(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !v.Names[0].IsExported() {
				return true
			}
			if call, ok := v.Values[0].(*ast.CallExpr); ok && len(call.Args) == 1 {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(lit.Value)
					all[v.Names[0].Name] = text
				}
			}
			return true
		})
	}
	return all
}

func TestCodeOf(t *testing.T) {
	tests := []struct {
		err  error
		want int16
	}{
		{nil, codeNone},
		{&log.RangeError{Offset: 9, Start: 1, End: 2}, codeOffsetOutOfRange},
		{fmt.Errorf("read: %w", &log.CorruptError{}), codeCorruptMessage},
		{fmt.Errorf("append: %w", topic.ErrTooLarge), codeMessageTooLarge},
		{fmt.Errorf("append: %w", log.ErrTooLarge), codeRecordListTooLarge},
		{faultf(codePolicyViolation, "no"), codePolicyViolation},
		{fmt.Errorf("something from the disk"), codeStorageError},
	}
	for _, test := range tests {
		if got := codeOf(test.err); got != test.want {
			t.Errorf("codeOf(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}
