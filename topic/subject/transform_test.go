package subject

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTransformApply(t *testing.T) {
	for _, c := range []struct{ source, destination, subject, want string }{
		{"", "prefix.>", "foo", "prefix.foo"},
		{"", "", "foo.bar", "foo.bar"},
		{">", ">", "foo.bar", "foo.bar"},
		{"foo", "", "foo", "foo"},
		{"foo", "bar", "foo", "bar"},
		{"foo.>", ">", "foo.a.b", "a.b"},
		{"foo.*.bar.*.baz", "req.$2.$1", "foo.A.bar.B.baz", "req.B.A"},
		{"foo.*.bar.*.baz", "req.{{wildcard(2)}}.{{ Wildcard( 1 ) }}", "foo.A.bar.B.baz", "req.B.A"},
		{"baz.>", "my.pre.>", "baz.1.2.3", "my.pre.1.2.3"},
		{"a.*.>", "$1.>", "a.b.c.d", "b.c.d"},
		{"foo.*", "$KV.$1.$JS", "foo.a", "$KV.a.$JS"},
		{"*", "{{splitfromleft(1,3)}}", "12345", "123.45"},
		{"*", "{{SplitFromLeft(1,9)}}", "12345", "12345"},
		{"*", "{{SplitFromRight(1,3)}}", "12345", "12.345"},
		{"*", "{{SliceFromLeft(1,3)}}", "1234567890", "123.456.789.0"},
		{"*", "{{SliceFromLeft(1,5)}}", "1234567890", "12345.67890"},
		{"*", "{{SliceFromRight(1,3)}}", "1234567890", "1.234.567.890"},
		{"*", "{{SliceFromRight(1,5)}}", "1234567890", "12345.67890"},
		{"*", "{{SliceFromRight(1,0)}}", "123", "123"},
		{"*", "{{split(1,-)}}", "-abc-def--ghi-", "abc.def.ghi"},
		{"*.*", "{{split(2,-)}}.{{splitfromleft(1,2)}}", "foo.-abc-def--ghij-", "abc.def.ghij.fo.o"},
		{"*", "{{right(1,1)}}", "1234", "4"},
		{"*", "{{right(1,6)}}", "1234", "1234"},
		{"*", "{{left(1,3)}}", "1234", "123"},
		{"*", "{{left(1,6)}}", "1234", "1234"},
		// The hashes are those that nats-server gives.
		{"*", "bar.{{partition(0)}}", "baz", "bar.0"},
		{"*", "bar.{{partition(10, 0)}}", "foo", "bar.3"},
		{"*", "bar.{{partition(10,1)}}", "foo", "bar.3"},
		{"*.*", "bar.{{partition(10)}}", "foo.bar", "bar.6"},
		{"*", "bar.{{partition(10)}}", "qux", "bar.9"},
		{"foo.baz", "qux.{{partition(10)}}", "foo.baz", "qux.4"},
		{"test.subject", "result.{{partition(5,1)}}", "test.subject", "result.0"},
		{"*", "bar.{{random(1)}}", "qux", "bar.0"},
		{"*", "bar.{{random(0)}}", "qux", "bar.0"},
	} {
		tr, err := New(c.source, c.destination)
		if err != nil {
			t.Errorf("New(%q, %q): %v", c.source, c.destination, err)
			continue
		}
		if got, ok := tr.Apply(c.subject); got != c.want || !ok {
			t.Errorf("%q to %q: %q became %q, %v; want %q", c.source, c.destination, c.subject, got, ok, c.want)
		}
	}
}

func TestTransformLeavesSubjectsAlone(t *testing.T) {
	for _, c := range []struct{ source, destination, subject string }{
		{"foo.*", "bar.$1", "foo"},
		{"foo.*", "bar.$1", "other.a"},
		{"foo.*", "bar.{{split(1,-)}}", "foo.--"}, // an empty token would come out
	} {
		tr, err := New(c.source, c.destination)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := tr.Apply(c.subject); got != c.subject || ok {
			t.Errorf("%q became %q, %v", c.subject, got, ok)
		}
	}
}

func TestNewTransformRefuses(t *testing.T) {
	for _, c := range []struct{ source, destination, want string }{
		{"foo..", "bar", "invalid subject foo.."},
		{"foo.*", "bar.*", "invalid subject"},
		{"foo.*", "bar.$1.>", "invalid subject"},
		{"foo.>", "bar.baz", "invalid subject"},
		{"foo", "bar..a", "invalid mapping destination: invalid transform"},
		{"foo.>", "bar.>.a", "invalid mapping destination: invalid transform in >"},
		{"foo", "bar baz", "invalid mapping destination: invalid transform"},
		{"foo.*", "bar.$2", "invalid mapping destination: wildcard index out of range in $2: [2]"},
		{"foo.*", "bar.{{wildcard(2)}}", "invalid mapping destination: wildcard index out of range in {{wildcard(2)}}: [2]"},
		{"foo", "bar.{{wildcard(1)}}", "invalid mapping destination: wildcard index out of range in {{wildcard(1)}}: [1]"},
		{"foo.*", "bar.{{left(-1,1)}}", "invalid mapping destination: wildcard index out of range in {{left(-1,1)}}: [-1]"},
		{"foo.*", "foo.{{unimplemented(1)}}", "invalid mapping destination: unknown function in {{unimplemented(1)}}"},
		{"foo.*", "foo.{{splitFromLeft(2,2}}", "invalid mapping destination: unknown function in {{splitFromLeft(2,2}}"},
		{"foo.*", "foo.{{wildcard()}}", "invalid mapping destination: not enough arguments passed to the function in {{wildcard()}}"},
		{"foo.*", "foo.{{left(1)}}", "invalid mapping destination: not enough arguments passed to the function in {{left(1)}}"},
		{"foo.*", "foo.{{split(1)}}", "invalid mapping destination: not enough arguments passed to the function in {{split(1)}}"},
		{"foo.*", "foo.{{random(1,2)}}", "invalid mapping destination: not enough arguments passed to the function in {{random(1,2)}}"},
		{"foo.*", "foo.{{wildcard(1,2)}}", "invalid mapping destination: too many arguments passed to the function in {{wildcard(1,2)}}"},
		{"foo.*", "foo.{{partition()}}", "invalid mapping destination: function argument is invalid or in the wrong format in {{partition()}}"},
		{"foo.*", "foo.{{partition(2147483648)}}", "invalid mapping destination: function argument is invalid or in the wrong format in {{partition(2147483648)}}"},
		{"foo.*", "foo.{{wildcard(x)}}", "invalid mapping destination: function argument is invalid or in the wrong format in {{wildcard(x)}}"},
		{"foo.*", "foo.{{split(1,a b)}}", "invalid mapping destination: function argument is invalid or in the wrong format in {{split(1,a b)}}"},
	} {
		_, err := New(c.source, c.destination)
		if err == nil || err.Error() != c.want {
			t.Errorf("New(%q, %q): %v, want %s", c.source, c.destination, err, c.want)
		}
		if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrDestination) {
			t.Errorf("New(%q, %q): %v is neither ErrInvalid nor ErrDestination", c.source, c.destination, err)
		}
	}
}

// Nothing panics; what comes out of a transform that applies is a subject, and what does not apply is unchanged.
func FuzzTransform(f *testing.F) {
	for _, seed := range []string{"$1", "{{partition(3,1)}}", "{{split(1,-)}}.x", "{{sliceFromLeft(1,2)}}", "a.>"} {
		f.Add("*", seed, "ab-cd")
		f.Add("a.*.>", seed+".>", "a.b.c")
	}
	f.Fuzz(func(t *testing.T, source, destination, s string) {
		tr, err := New(source, destination)
		if err != nil || !Literal(s) {
			return
		}
		got, ok := tr.Apply(s)
		if !ok && got != s {
			t.Fatalf("%q became %q without applying", s, got)
		}
		if ok && !Literal(got) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestSlicesKeepEveryByte(t *testing.T) {
	for size := 1; size < 12; size++ {
		for _, f := range []string{"slicefromleft", "slicefromright"} {
			parts := strings.Split(string(cutter(f)(nil, "12345678901", size)), ".")
			if strings.Join(parts, "") != "12345678901" || misfit(parts, size) {
				t.Errorf("%s by %d: %q", f, size, parts)
			}
		}
	}
}

// misfit says that a part is empty or longer than size.
func misfit(parts []string, size int) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return p == "" || len(p) > size })
}
