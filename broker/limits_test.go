package broker

import "testing"

func TestShareOpenLimit(t *testing.T) {
	for _, c := range []struct {
		files int
		set   LimitsConfig
		want  openLimits
	}{
		{1024, LimitsConfig{}, openLimits{1024, 256, 512}},
		{1, LimitsConfig{}, openLimits{1, 1, 1}},
		{1024, LimitsConfig{Connections: 7}, openLimits{1024, 256, 7}},
		{1024, LimitsConfig{SegmentFiles: 9}, openLimits{1024, 9, 512}},
	} {
		if got := shareOpenLimit(c.files, c.set); got != c.want {
			t.Errorf("%d files, %+v: got %+v, want %+v", c.files, c.set, got, c.want)
		}
	}
}
