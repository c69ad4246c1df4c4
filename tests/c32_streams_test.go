package tests

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
)

// C32: streams take the names that JetStream allows, also those that no topic can have. A refusal is an answer, and the
// connection stays.
func TestC32StreamNames(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	nc := natsClient(t, s)
	create(t, client(t, s), "a.b", 1, nil)
	longest := strings.Repeat("n", 249)
	for i, c := range []struct {
		name string
		made bool
	}{
		{longest, true}, {longest + "n", true}, {strings.Repeat("n", 255), true}, {strings.Repeat("n", 256), false},
		{"a_b", false}, // Kafka's a.b has it
		{"a-b", true}, {"Twin", true}, {"twin", true}, {"TWIN", true},
		{"", false}, {".", false}, {"..", false}, {"a/b", false}, {`a\b`, false}, {"../../up", false}, {"a.c", false},
		{"two words", false}, {"star*", false}, {"full>", false}, {"tab\t", false}, {"nul\x00", false}, {"日本", true}, {"naïve", true},
	} {
		got := createRaw(t, nc, c.name, fmt.Sprintf("c%d.*", i))
		if c.made != (got == "") {
			t.Errorf("create stream %.40q: %q, want made=%v", c.name, got, c.made)
		}
	}
	js := jetStream(t, s)
	for _, name := range []string{longest, "Twin", "twin"} {
		if err := js.DeleteStream(limited(t, 30*time.Second), name); err != nil {
			t.Errorf("delete %.10s: %v", name, err)
		}
	}
	if _, err := js.Stream(limited(t, 30*time.Second), "TWIN"); err != nil {
		t.Errorf("TWIN went with its twins: %v", err)
	}
	topics, err := kadm.NewClient(client(t, s)).ListTopics(limited(t, 30*time.Second))
	if err != nil || !topics.Has("TWIN") || topics.Has("twin") {
		t.Errorf("Kafka sees the topics %v, %v", topics.Names(), err)
	}
	filepath.WalkDir(s.Again().Data, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.Contains(path, "TWIN") || strings.Contains(path, "..") {
			t.Errorf("%s: %v: a name is a path", path, err)
		}
		return nil
	})
}

// createRaw asks for a stream without the checks that nats.go makes, and returns the refusal.
func createRaw(t *testing.T, nc *nats.Conn, name, subject string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "subjects": []string{subject}})
	if err != nil {
		t.Fatal(err)
	}
	token := name
	if name == "" || strings.ContainsAny(name, ". \t*>\x00") {
		token = "x" // what cannot stand in a subject stands in the request alone
	}
	reply, err := nc.RequestWithContext(limited(t, 30*time.Second), "$JS.API.STREAM.CREATE."+token, body)
	if err != nil {
		t.Fatalf("create stream %.40q: %v", name, err)
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		t.Fatalf("create stream %.40q: %v in %s", name, err, reply.Data)
	}
	if answer.Error == nil {
		return ""
	}
	return answer.Error.Description
}

// C32: subjects that are none are published to nobody, and consumers' names keep to the rule.
func TestC32SubjectsAndConsumerNames(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	nc := natsClient(t, s)
	js := jetStream(t, s)
	stream := createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"foo.>"}})
	ctx := limited(t, 60*time.Second)
	for _, subject := range []string{"foo..bar", ".foo", "foo.", "foo.*", "foo.>"} {
		nc.PublishMsg(&nats.Msg{Subject: subject, Data: []byte("lost")}) // nats.go may refuse some itself
		if err := nc.FlushWithContext(ctx); err != nil {
			t.Fatalf("the connection after a publication to %q: %v", subject, err)
		}
	}
	if info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">")); err != nil {
		t.Error(err)
	} else {
		for subject := range info.State.Subjects {
			if strings.Contains(subject, "..") || strings.HasPrefix(subject, ".") || strings.HasSuffix(subject, ".") {
				t.Errorf("the stream has the subject %q", subject)
			}
		}
	}
	for _, name := range []string{"a.b", "a b", "a*", "a>", "a/b", `a\b`, strings.Repeat("n", 256)} {
		body := fmt.Sprintf(`{"stream_name":"S","config":{"durable_name":%q,"ack_policy":"explicit"}}`, name)
		reply, err := nc.RequestWithContext(ctx, "$JS.API.CONSUMER.DURABLE.CREATE.S.x", []byte(body))
		if err != nil {
			t.Fatalf("create consumer %.40q: %v", name, err)
		}
		if !strings.Contains(string(reply.Data), `"error"`) {
			t.Errorf("consumer %.40q was made: %s", name, reply.Data)
		}
	}
}
