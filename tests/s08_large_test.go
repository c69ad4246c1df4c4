package tests

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
)

// S8: messages near the largest size on many subjects; the indexes are lost and made again; subjects and contents are as
// before.
func TestS08LargeMessagesOnManySubjects(t *testing.T) {
	t.Parallel()
	const subjects, each, size = 20, 2, 1<<20 - 1000
	s := start(t, options(t))
	js := jetStream(t, s)
	createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"large.>"}})
	small := "8388608" // there are closed segments with indexes
	_, err := kadm.NewClient(client(t, s)).AlterTopicConfigs(limited(t, 30*time.Second),
		[]kadm.AlterConfig{{Name: "segment.bytes", Value: &small}}, "S")
	if err != nil {
		t.Fatal(err)
	}
	content := func(i, n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%03d.%d ", i, n), size/6) }
	ctx := limited(t, 120*time.Second)
	for n := range each {
		for i := range subjects {
			if _, err := js.Publish(ctx, fmt.Sprintf("large.%d", i), content(i, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, when := range []string{"before", "after the indexes were lost"} {
		if when != "before" {
			kill(t, s)
			dropIndexes(t, s.Again().Data)
			s = start(t, s.Again())
		}
		stream, err := js.Stream(ctx, "S")
		if err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		if len(info.State.Subjects) != subjects || info.State.Msgs != subjects*each {
			t.Errorf("%s: %d messages on %d subjects", when, info.State.Msgs, len(info.State.Subjects))
		}
		for i := range subjects {
			subject := fmt.Sprintf("large.%d", i)
			if n := info.State.Subjects[subject]; n != each {
				t.Errorf("%s: %d messages on %s", when, n, subject)
			}
			m, err := stream.GetLastMsgForSubject(ctx, subject)
			if err != nil || m.Subject != subject || !bytes.Equal(m.Data, content(i, each-1)) {
				t.Errorf("%s: the last message on %s: %v", when, subject, err)
			}
		}
	}
}

// dropIndexes removes every index of a stopped broker's logs.
func dropIndexes(t *testing.T, data string) {
	t.Helper()
	dropped := 0
	err := filepath.WalkDir(data, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "index") {
			dropped++
			err = os.Remove(path)
		}
		return err
	})
	if err != nil || dropped == 0 {
		t.Fatalf("%d indexes removed: %v", dropped, err)
	}
}
