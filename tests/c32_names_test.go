package tests

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/tests/harness"
)

// C32: one rule for the names of topics, whichever way they come. A refusal is clear and keeps the connection, no name
// becomes a path, and names that differ only in case are two topics on disk and in the metrics.
func TestC32TopicNames(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	longest := strings.Repeat("n", 249)
	tests := []struct {
		name string
		want *kerr.Error // nil: it is made
	}{
		{longest, nil}, {longest + "n", kerr.InvalidTopicException}, {strings.Repeat("n", 255), kerr.InvalidTopicException},
		{"a.b", nil}, {"a_b", kerr.InvalidTopicException}, {"a.b", kerr.TopicAlreadyExists}, {"a-b", nil},
		{"", kerr.InvalidTopicException}, {".", kerr.InvalidTopicException}, {"..", kerr.InvalidTopicException}, {"...", nil},
		{"a/b", kerr.InvalidTopicException}, {`a\b`, kerr.InvalidTopicException}, {"../../up", kerr.InvalidTopicException},
		{"Twin", nil}, {"twin", nil}, {"TWIN", nil},
		{"naïve", kerr.InvalidTopicException}, {"日本", kerr.InvalidTopicException}, {"two words", kerr.InvalidTopicException},
		{"tab\t", kerr.InvalidTopicException}, {"nul\x00", kerr.InvalidTopicException}, {"bad\xff", kerr.InvalidTopicException},
		{"con", nil}, {"--help", nil}, {"0", nil}, {"lost+found", kerr.InvalidTopicException},
	}
	w := dial(t, s) // one connection for all: no refusal may close it
	for _, test := range tests {
		req := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = test.name, 1, 1
		req.Topics = append(req.Topics, topic)
		got := w.ask(t, 7, req).(*kmsg.CreateTopicsResponse).Topics[0]
		if want := codeOf(test.want); got.ErrorCode != want || want != 0 && (got.ErrorMessage == nil || *got.ErrorMessage == "") {
			t.Errorf("create %.40q: error %d %v, want %v", test.name, got.ErrorCode, got.ErrorMessage, test.want)
		}
		if test.want == kerr.InvalidTopicException {
			refusedElsewhere(t, s, w, test.name)
		}
	}

	ledger := harness.NewLedger()
	cl := client(t, s)
	for i, twin := range []string{"Twin", "twin", "TWIN", longest} {
		publish(t, cl, ledger, newMaker(byte(i)).records(twin, 0, i+1, 10)...)
	}
	twinsInMetrics(t, s)
	s = restart(t, s)
	verify(t, s, ledger, "Twin", "twin", "TWIN", longest)
	if resp, err := kadm.NewClient(client(t, s)).DeleteTopics(limited(t, 30*time.Second), longest); err != nil || resp.Error() != nil {
		t.Errorf("delete the longest name: %v, %v", err, resp.Error())
	}
	ledger.Forget(func(p harness.Position) bool { return p.Topic == longest })
	s = restart(t, s)
	verify(t, s, ledger, "Twin", "twin", "TWIN")
	onlyOwnNames(t, s)
}

func codeOf(err *kerr.Error) int16 {
	if err == nil {
		return 0
	}
	return err.Code
}

// refusedElsewhere checks that a name that cannot be created is refused by other requests and by the command line too.
func refusedElsewhere(t *testing.T, s *harness.Server, w *wire, name string) {
	t.Helper()
	meta := kmsg.NewPtrMetadataRequest()
	meta.AllowAutoTopicCreation = true
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	if got := w.ask(t, 9, meta).(*kmsg.MetadataResponse).Topics[0]; got.ErrorCode == 0 {
		t.Errorf("%.40q was made by Metadata", name)
	}
	if got := w.produce(t, name, 0, newBatch(0, nil, 1, []byte("v"))); got.ErrorCode == 0 {
		t.Errorf("%.40q was written to", name)
	}
	if strings.Contains(name, "\x00") || name == "" {
		return // no argument of a command
	}
	cmd := exec.Command(s.Again().Binary, "topic", "create", "--server", s.Kafka, "--", name)
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("INVALID_TOPIC_EXCEPTION")) && !bytes.Contains(out, []byte("name")) {
		t.Errorf("brokerd topic create %.40q: %v\n%s", name, err, out)
	}
}

// twinsInMetrics checks that topics whose names are alike are told apart.
func twinsInMetrics(t *testing.T, s *harness.Server) {
	t.Helper()
	resp, err := http.Get("http://" + s.HTTP + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for i, twin := range []string{"Twin", "twin", "TWIN"} {
		if want := fmt.Sprintf("brokerd_topic_records_in_total{topic=%q} %d\n", twin, i+1); !bytes.Contains(page, []byte(want)) {
			t.Errorf("/metrics has no line %q", want)
		}
	}
}

// onlyOwnNames checks that every name in the data directory is one that the broker chose, and that nothing was made
// beside it.
func onlyOwnNames(t *testing.T, s *harness.Server) {
	t.Helper()
	data := s.Again().Data
	own := regexp.MustCompile(`^(format|lock|meta\.db|topics|[0-9a-f-]{36}|\d+|[0-9]{20}\.[a-z]+|[a-z-]+)$`)
	for _, root := range []string{data, filepath.Dir(data)} {
		filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != root && !own.MatchString(filepath.Base(path)) {
				t.Errorf("the data directory has %s", path)
			}
			return err
		})
	}
}

// C32: a group may have any name. It is kept as it is, and is never a path.
func TestC32GroupNames(t *testing.T) {
	t.Parallel()
	const topic = "c32-groups"
	s := start(t, options(t))
	cl := client(t, s)
	create(t, cl, topic, 1, nil)
	names := []string{
		".", "..", "a/b", `a\b`, "../../up", "Twin", "twin", "a.b", "a_b", "naïve 日本", "tab\t", strings.Repeat("g", 1000),
	}
	for i, name := range names {
		commit(t, cl, name, kadm.Offset{Topic: topic, At: int64(i)})
	}
	s = restart(t, s)
	cl = client(t, s)
	for i, name := range names {
		if at := offsetOf(t, cl, name, topic); at != int64(i) {
			t.Errorf("group %.40q is at %d, want %d", name, at, i)
		}
	}
	for _, name := range names {
		deleteGroup(t, cl, name)
	}
	if left := groupState(t, s); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	onlyOwnNames(t, s)
}
