package topic

import (
	"errors"
	"testing"
)

// FuzzSetting: parsing a setting never panics; what is refused is ErrBadConfig; what is accepted is stored in a form that
// is accepted again and does not change; and it can be typed, alone or together with the defaults.
func FuzzSetting(f *testing.F) {
	for i := range specs {
		f.Add(specs[i].name, specs[i].value)
	}
	f.Add("cleanup.policy", "compact , delete")
	f.Add("retention.ms", "-9223372036854775808")
	f.Add("min.cleanable.dirty.ratio", "0x1p-2")
	f.Fuzz(func(t *testing.T, name, value string) {
		once, err := parseOverrides(map[string]string{name: value})
		if err != nil {
			if !errors.Is(err, ErrBadConfig) {
				t.Fatal(err)
			}
			return
		}
		twice, err := parseOverrides(once)
		if err != nil || twice[name] != once[name] {
			t.Fatalf("%s = %q became %q, then %q, %v", name, value, once[name], twice[name], err)
		}
		c, err := levels{topic: once}.config()
		if err != nil && !errors.Is(err, ErrBadConfig) {
			t.Fatal(err)
		}
		if age := jittered(c).SegmentAge; age < 0 {
			t.Fatalf("%s = %q: segments roll at the age of %v", name, value, age)
		}
	})
}
