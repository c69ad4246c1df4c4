package topic

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestProgressIsRare(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	p := newProgress(zerolog.New(&out), 100, now)
	for range 100 {
		now = now.Add(progressEach / 20)
		p.add(now)
	}
	if got := strings.Count(out.String(), "\n"); got != 5 {
		t.Errorf("%d lines, want 5:\n%s", got, out.String())
	}
	if !strings.Contains(out.String(), `"opened":20,"total":100`) {
		t.Errorf("no numbers in:\n%s", out.String())
	}
}
