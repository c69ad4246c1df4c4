package subject

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValid(t *testing.T) {
	for _, c := range []struct {
		s              string
		valid, literal bool
	}{
		{"a", true, true},
		{"a.b.c", true, true},
		{"$JS.API.INFO", true, true},
		{"ä.日本", true, true},
		{"a*.b>", true, true}, // a wildcard is a whole token
		{"*", true, false},
		{">", true, false},
		{"a.*.c", true, false},
		{"a.>", true, false},
		{"*.>", true, false},
		{"", false, false},
		{".", false, false},
		{".a", false, false},
		{"a.", false, false},
		{"a..b", false, false},
		{"a.>.b", false, false},
		{">.a", false, false},
		{"a b", false, false},
		{" ", false, false},
		{"a.\t", false, false},
		{"a.b\r\n", false, false},
		{"a\fb", false, false},
	} {
		if got := Valid(c.s); got != c.valid {
			t.Errorf("Valid(%q) = %v", c.s, got)
		}
		if got := Literal(c.s); got != c.literal {
			t.Errorf("Literal(%q) = %v", c.s, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		filter, s string
		want      bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"a.*", "a.b.c", false},
		{"*.*.>", "a.b", false},
		{"*.*.>", "a.b.c", true},
	} {
		if got := Match(c.filter, c.s); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.filter, c.s, got)
		}
	}
}

func TestOverlapAndSubset(t *testing.T) {
	for _, c := range []struct {
		a, b            string
		overlap, subset bool
	}{
		{"a", "a", true, true},
		{"a", "b", false, false},
		{"a", "*", true, true},
		{"*", "a", true, false},
		{"a.*", "*.b", true, false},
		{"a.>", "a", false, false},
		{"a.>", "a.*", true, false},
		{"a.*", "a.>", true, true},
		{">", ">", true, true},
		{"*", ">", true, true},
		{">", "*", true, false},
		{"a.>", "*.>", true, true},
		{"a.*.c", "a.b.*", true, false},
		{"a.*.c", "a.*.d", false, false},
		{"a.b", "a.b.>", false, false},
	} {
		if got := Overlap(c.a, c.b); got != c.overlap {
			t.Errorf("Overlap(%q, %q) = %v", c.a, c.b, got)
		}
		if got := Overlap(c.b, c.a); got != c.overlap {
			t.Errorf("Overlap(%q, %q) = %v", c.b, c.a, got)
		}
		if got := Subset(c.a, c.b); got != c.subset {
			t.Errorf("Subset(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// Over an alphabet with one letter more than filters use, and subjects one token longer than filters, what the filters say of
// each single subject decides.
func TestOverlapAndSubsetAgainstEverySubject(t *testing.T) {
	const depth = 3
	subjects := every([]string{"a", "b", "c"}, depth+1)
	filter := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 1, depth).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "open") {
			tokens[len(tokens)-1] = ">"
		}
		return strings.Join(tokens, ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := filter.Draw(t, "a"), filter.Draw(t, "b")
		overlap, subset := false, true
		for _, s := range subjects {
			inA, inB := Match(a, s), Match(b, s)
			overlap = overlap || inA && inB
			subset = subset && (!inA || inB)
		}
		if got := Overlap(a, b); got != overlap {
			t.Fatalf("Overlap(%q, %q) = %v", a, b, got)
		}
		if got := Subset(a, b); got != subset {
			t.Fatalf("Subset(%q, %q) = %v", a, b, got)
		}
	})
}

// every lists the subjects of up to depth of these tokens.
func every(tokens []string, depth int) (all []string) {
	level := []string{""}
	for range depth {
		var next []string
		for _, head := range level {
			for _, token := range tokens {
				next = append(next, strings.TrimPrefix(head+"."+token, "."))
			}
		}
		all, level = append(all, next...), next
	}
	return all
}

// Nothing panics; what is literal is valid, matches itself, and is matched by whatever contains it; overlap is symmetric;
// a subset overlaps.
func FuzzSubjects(f *testing.F) {
	f.Add("a.b", "a.*")
	f.Add("*.b.>", ">")
	f.Add("a..b", ".")
	f.Add("\x00 \xff", "a.>.b")
	f.Fuzz(func(t *testing.T, a, b string) {
		match, overlap, subset := Match(b, a), Overlap(a, b), Subset(a, b)
		if !Valid(a) || !Valid(b) {
			return
		}
		if overlap != Overlap(b, a) {
			t.Fatal("overlap is not symmetric")
		}
		if subset && !overlap {
			t.Fatal("a subset does not overlap")
		}
		if Literal(a) {
			if !Match(a, a) || match != overlap || match != subset {
				t.Fatalf("literal %q and filter %q: match %v, overlap %v, subset %v", a, b, match, overlap, subset)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "a.b": true, "a.*": true, "a.>.b": true, "": false, ".a": false, "a.": false, "a..b": false, "a b": false,
	} {
		if got := Tokens(s); got != want {
			t.Errorf("Tokens(%q) = %v", s, got)
		}
	}
}
