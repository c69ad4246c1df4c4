package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What a reader can take in. The code aims at two thirds of it.
const (
	maxFileLines     = 600
	maxFunctionLines = 100
	maxFields        = 25
)

// source is one parsed file of the module.
type source struct {
	name string // below the module's root
	set  *token.FileSet
	file *ast.File
}

func (s source) test() bool           { return strings.HasSuffix(s.name, "_test.go") }
func (s source) line(p token.Pos) int { return s.set.Position(p).Line }

func (s source) imports(path string) bool {
	for _, i := range s.file.Imports {
		if i.Path.Value == strconv.Quote(path) {
			return true
		}
	}
	return false
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	for _, p := range packages(t) {
		for _, list := range [][]string{p.GoFiles, p.TestGoFiles, p.XTestGoFiles} {
			for _, name := range list {
				path := filepath.Join(p.Dir, name)
				set := token.NewFileSet()
				file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				short, err := filepath.Rel(root, path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, source{short, set, file})
			}
		}
	}
	return all
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.line(s.file.FileEnd); n > maxFileLines {
			t.Errorf("%s has %d lines", s.name, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test() {
				continue
			}
			if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines", s.name, f.Name.Name, n)
			}
		}
	}
}

// A package variable is an error value, a table that nothing changes, an embedded file, or a compile-time check (_).
func TestNoGlobalState(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s has an init function", s.name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && !constant(v) && !embedded(d) {
						t.Errorf("%s:%d: %s is a package variable", s.name, s.line(v.Pos()), v.Names[0].Name)
					}
				}
			}
		}
	}
}

// embedded says that the compiler fills the variable with a file.
func embedded(d *ast.GenDecl) bool {
	return d.Doc != nil && strings.HasPrefix(d.Doc.List[len(d.Doc.List)-1].Text, "//go:embed ")
}

func constant(v *ast.ValueSpec) bool {
	name := v.Names[0].Name
	if name == "_" || strings.HasPrefix(name, "err") || strings.HasPrefix(name, "Err") {
		return true
	}
	if len(v.Values) != 1 {
		return false
	}
	switch value := v.Values[0].(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		if f, ok := value.Fun.(*ast.SelectorExpr); ok {
			return f.Sel.Name == "MakeTable" // of package crc32
		}
		_, conversion := value.Fun.(*ast.ArrayType) // []byte("name")
		return conversion
	}
	return false
}

func TestStructsAreSmall(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			fields, mutexes := 0, 0
			for _, f := range body.Fields.List {
				fields += max(len(f.Names), 1)
				if isMutex(f.Type) {
					mutexes++
				}
			}
			if fields > maxFields && !onWire(body) || mutexes > 1 {
				t.Errorf("%s: struct %s has %d fields and %d mutexes", s.name, spec.Name.Name, fields, mutexes)
			}
			return true
		})
	}
}

// onWire says that each field has a name in JSON: somebody else decided how many there are.
func onWire(body *ast.StructType) bool {
	for _, f := range body.Fields.List {
		if f.Tag == nil || !strings.Contains(f.Tag.Value, `json:"`) {
			return false
		}
	}
	return true
}

func isMutex(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := s.X.(*ast.Ident)
	return ok && from.Name == "sync" && (s.Sel.Name == "Mutex" || s.Sel.Name == "RWMutex")
}

// Tests wait for a condition, never for a while. Sleeping is for fake time, and for tests/, which polls another process.
// No test is skipped.
func TestNoSleepingAndNoSkippedTests(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		maySleep := strings.HasPrefix(s.name, "tests/") || s.imports("testing/synctest")
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := call.X.(*ast.Ident)
			if !ok {
				return true
			}
			if from.Name == "time" && call.Sel.Name == "Sleep" && !maySleep {
				t.Errorf("%s:%d sleeps", s.name, s.line(call.Pos()))
			}
			if from.Name == "t" && strings.HasPrefix(call.Sel.Name, "Skip") {
				t.Errorf("%s:%d skips a test", s.name, s.line(call.Pos()))
			}
			return true
		})
	}
}
