package stream

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what is answered into the conversations in testdata")

// conversation runs the requests of a file in testdata and compares the answers: a line "VERB BODY", and below it, after a
// tab, what answer returns. What testdata/configs.txt has is what nats-server 2.15.3 answered to the same requests, except
// that an empty list is no difference, and that the file's invalid names never reach it.
func conversation(t *testing.T, file string, answer func(verb, body string) string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		got.WriteString(line)
		if verb, body, ok := strings.Cut(strings.TrimRight(line, "\n"), " "); ok && verb != "#" {
			fmt.Fprintf(&got, "\t%s\n", answer(verb, body))
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("%s:%d\n got %s\nwant %s\nto   %s", file, i+1, strings.Join(is[i:i+1], ""), strings.Join(was[i:i+1], ""), was[max(i-1, 0)])
		}
	}
}

// request is the body of a request.
type request struct {
	Config
	Pedantic bool `json:"pedantic"`
}

// ledger is a book in a map.
type ledger map[string]Config

func (l ledger) book(name string) book {
	others := maps.Clone(l)
	delete(others, name)
	return book{func(name string) (Config, bool) { c, ok := l[name]; return c, ok }, maps.Values(others)}
}

func (l ledger) answer(verb, body string) string {
	q, refused := decodeRequest(body)
	if refused != "" {
		return refused
	}
	var c Config
	var err error
	if verb == "create" {
		c, _, err = l.book(q.Name).create(q.Config, q.Pedantic)
	} else {
		c, err = l.book(q.Name).update(q.Config, q.Pedantic)
	}
	if err != nil {
		return told(err)
	}
	l[c.Name] = c
	return shown(c)
}

// decodeRequest reads a body; refused is the answer to one that cannot be read.
func decodeRequest(body string) (q request, refused string) {
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, told(InvalidJSON(err))
	}
	return q, ""
}

func told(err error) string {
	e := err.(*Error)
	return fmt.Sprintf("%d %d %s", e.Code, e.ErrCode, e.Description)
}

// shown is a configuration as clients see it, with the API level that it needs before it.
func shown(c Config) string {
	level := fmt.Sprint(c.Level())
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata["_nats.req.level"] = level
	return level + " " + string(bytes.ReplaceAll(encode(c), []byte(`\u003e`), []byte(">")))
}

func TestConfigs(t *testing.T) {
	conversation(t, "testdata/configs.txt", ledger{}.answer)
}

// What is not done is refused, so that nobody relies on it.
func TestConfigsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"name":"B","allow_msg_schedules":true,"discard":"new"}`:                                "500 10052 message scheduling cannot use discard new",
		`{"name":"B","allow_msg_schedules":true,"mirror":{"name":"A"}}`:                          "400 10186 stream mirrors can not also schedule messages",
		`{"name":"B","allow_msg_schedules":true,"sources":[{"name":"A"}]}`:                       "400 10187 stream source can not also schedule messages",
		`{"name":"B","allow_batched":true,"mirror":{"name":"A"}}`:                                "400 10209 stream mirrors can not also use batch publishing",
		`{"name":"B","mirror":{"name":"A","external":{"api":"$JS.x.API","deliver":""}}}`:         "500 10052 streams of other accounts and domains are not supported by this server",
		`{"name":"B","sources":[{"name":"A","external":{"api":"$JS.x.API","deliver":""}}]}`:      "500 10052 streams of other accounts and domains are not supported by this server",
		`{"name":"B","sources":[{"name":"A","consumer":{"name":"c","deliver_subject":"d"}}]}`:    "400 10215 stream source consumer config is invalid",
		`{"name":"B","description":"` + strings.Repeat("d", 4097) + `"}`:                         "500 10052 stream description is too long, maximum allowed is 4096",
		`{"name":"B","metadata":{"k":"` + strings.Repeat("m", 128<<10) + `"}}`:                   "500 10052 stream metadata exceeds maximum size of 131072 bytes",
		`{"name":"B","retention":null}`:                                                          `400 10025 invalid JSON: can not unmarshal "null"`,
		`{"name":"B","sources":[{"name":"A","subject_transforms":[{"src":">"},{"src":"a.b"}]}]}`: "400 10147 source filters can not overlap",
	} {
		if got := (ledger{}).answer("create", body); got != want {
			t.Errorf("%.100s\n got %s\nwant %s", body, got, want)
		}
	}
}

// A configuration that was completed is complete: nothing changes when it is sent back.
func FuzzConfig(f *testing.F) {
	file, err := os.ReadFile("testdata/configs.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if _, body, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "\t") {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var c Config
		if json.Unmarshal(body, &c) != nil {
			return
		}
		before := encode(c)
		done, _, err := ledger{}.book(c.Name).create(c, false)
		if !bytes.Equal(encode(c), before) {
			t.Fatal("the request was changed")
		}
		if err != nil {
			return
		}
		var back Config
		if err := json.Unmarshal(encode(done), &back); err != nil {
			t.Fatal(err)
		}
		if _, exists, err := (ledger{done.Name: done}).book(done.Name).create(back, true); !exists || err != nil {
			t.Fatalf("sent back: %v, %v\n%s", exists, err, encode(done))
		}
	})
}
