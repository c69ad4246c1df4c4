package main

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func isMisuse(err error) bool {
	var coded *exitError
	return errors.As(err, &coded) && coded.code == exitUsage
}

func TestParseSeparator(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{",", ","}, {`\t`, "\t"}, {"\t", "\t"}, {`\x1f`, "\x1f"}, {"::", "::"}, {`"`, `"`}, {`\\`, `\`}, {"é", "é"},
	} {
		got, err := parseSeparator(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("parseSeparator(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	if got, err := parseSeparator(""); got != nil || err != nil {
		t.Errorf("no separator: got %q, %v; want none", got, err)
	}
	for _, in := range []string{`\`, `\n`, "\n", `\q`} {
		if got, err := parseSeparator(in); !isMisuse(err) {
			t.Errorf("parseSeparator(%q) = %q, %v; want a usage error", in, got, err)
		}
	}
}

func TestRecordOfALine(t *testing.T) {
	for _, c := range []struct {
		separator, line string
		key             []byte
		value           string
	}{
		{"", "a,b", nil, "a,b"},
		{",", "a,b,c", []byte("a"), "b,c"},
		{",", ",b", []byte{}, "b"},
		{",", "a,", []byte("a"), ""},
		{",", "ab", nil, "ab"},
		{"::", "a:b::c", []byte("a:b"), "c"},
	} {
		job := produceJob{topic: "t", partition: -1}
		if c.separator != "" {
			job.separator = []byte(c.separator)
		}
		r := job.record([]byte(c.line))
		if !reflect.DeepEqual(r.Key, c.key) || string(r.Value) != c.value {
			t.Errorf("%q split by %q: key %#v, value %q; want %#v, %q", c.line, c.separator, r.Key, r.Value, c.key, c.value)
		}
	}
}

func TestParseHeadersAndSettings(t *testing.T) {
	headers, err := parseHeaders([]string{"a=1", "b=", "a=x=y"})
	want := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte{}}, {Key: "a", Value: []byte("x=y")}}
	if err != nil || !reflect.DeepEqual(headers, want) {
		t.Errorf("headers: %v, %v; want %v", headers, err, want)
	}
	settings, err := parseSettings([]string{"retention.ms=5", "x=", "y=a=b"})
	if want := (map[string]string{"retention.ms": "5", "x": "", "y": "a=b"}); err != nil || !reflect.DeepEqual(settings, want) {
		t.Errorf("settings: %v, %v; want %v", settings, err, want)
	}
	for _, bad := range []string{"", "a", "=b"} {
		if _, err := parseHeaders([]string{bad}); !isMisuse(err) {
			t.Errorf("header %q: %v, want a usage error", bad, err)
		}
		if _, err := parseSettings([]string{bad}); !isMisuse(err) {
			t.Errorf("setting %q: %v, want a usage error", bad, err)
		}
	}
	if _, err := parseSettings([]string{"a=1", "a=2"}); !isMisuse(err) {
		t.Errorf("a setting given twice: %v, want a usage error", err)
	}
}

func TestParseTopicPartitions(t *testing.T) {
	for _, c := range []struct {
		in   string
		want topicPartitions
	}{
		{"orders", topicPartitions{"orders", nil}},
		{"orders:3", topicPartitions{"orders", []int32{3}}},
		{"orders:0,2-4", topicPartitions{"orders", []int32{0, 2, 3, 4}}},
	} {
		got, err := parseTopicPartitions(c.in)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("parseTopicPartitions(%q) = %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", ":1", "orders:", "orders:x", "orders:-1", "orders:4-2", "orders:1,", "orders:0-2147483647", "orders:1:2"} {
		if got, err := parseTopicPartitions(in); err == nil {
			t.Errorf("parseTopicPartitions(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseProduceFlags(t *testing.T) {
	good := produceFlags{partition: -1, compression: "none", acks: "all", batchBytes: 1 << 20}
	if _, _, err := good.parse("t"); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*produceFlags){
		"acks":        func(f *produceFlags) { f.acks = "2" },
		"compression": func(f *produceFlags) { f.compression = "brotli" },
		"small batch": func(f *produceFlags) { f.batchBytes = 10 },
		"large batch": func(f *produceFlags) { f.batchBytes = 1 << 30 },
		"separator":   func(f *produceFlags) { f.keySeparator = `\` },
		"header":      func(f *produceFlags) { f.headers = []string{"x"} },
	} {
		bad := good
		change(&bad)
		if _, _, err := bad.parse("t"); !isMisuse(err) {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

func TestRenderers(t *testing.T) {
	r := &kgo.Record{
		Topic: "t", Partition: 3, Offset: 7, Timestamp: time.UnixMilli(1767225600123),
		Key: []byte("k"), Value: []byte("<v>"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}},
	}
	text := func(layout string) renderer {
		f, err := newTextRenderer(layout)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	binary := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(0), Key: []byte{}, Value: []byte{0xff},
		Headers: []kgo.RecordHeader{{Key: "h", Value: nil}, {Key: "i", Value: []byte{0xfe}}}}
	null := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(0)}
	for _, c := range []struct {
		name   string
		render renderer
		record *kgo.Record
		want   string
	}{
		{"value", text(columns{}.layout()), r, "<v>\n"},
		{"all columns", text(columns{true, true, true, true}.layout()), r, "2026-01-01T00:00:00.123Z\t3\t7\tk\th=1;\t<v>\n"},
		{"key", text(columns{key: true}.layout()), null, "\t\n"},
		{"format", text(`%t/%p:%o %k\n`), r, "t/3:7 k\n"},
		{"json", newJSONRenderer(), r, `{"topic":"t","partition":3,"offset":7,"timestamp":"2026-01-01T00:00:00.123Z",` +
			`"key":"k","value":"<v>","headers":[{"key":"h","value":"1"}]}` + "\n"},
		{"json of bytes", newJSONRenderer(), binary, `{"topic":"t","partition":0,"offset":0,"timestamp":"1970-01-01T00:00:00.000Z",` +
			`"key":"","value_base64":"/w==","headers":[{"key":"h","value":null},{"key":"i","value_base64":"/g=="}]}` + "\n"},
		{"json of nulls", newJSONRenderer(), null, `{"topic":"t","partition":0,"offset":0,"timestamp":"1970-01-01T00:00:00.000Z",` +
			`"key":null,"value":null}` + "\n"},
	} {
		var b bytes.Buffer
		if err := c.render(&b, c.record); err != nil || b.String() != c.want {
			t.Errorf("%s: %q, %v\nwant %q", c.name, b.String(), err, c.want)
		}
	}
	if _, err := newTextRenderer("%Q"); err == nil {
		t.Error("an unknown verb was taken")
	}
}

func TestParseConsumeFlags(t *testing.T) {
	good := consumeFlags{from: "beginning"}
	if _, err := good.parse([]string{"t"}, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*consumeFlags) (json bool){
		"place":                func(f *consumeFlags) bool { f.from = "somewhere"; return false },
		"group and partition":  func(f *consumeFlags) bool { f.group, f.partitions = "g", []int32{1}; return false },
		"count":                func(f *consumeFlags) bool { f.count = -1; return false },
		"format":               func(f *consumeFlags) bool { f.format = "%"; return false },
		"format and json":      func(f *consumeFlags) bool { f.format = "%v"; return true },
		"json and column":      func(f *consumeFlags) bool { f.columns.key = true; return true },
		"two ways of printing": func(f *consumeFlags) bool { f.columns.key, f.format = true, "%v"; return false },
	} {
		bad := good
		json := change(&bad)
		if _, err := bad.parse([]string{"t"}, json, time.Now()); !isMisuse(err) {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}

func TestTable(t *testing.T) {
	out := newTable("NAME", ">COUNT", "WHAT")
	out.add("a", 5, "x")
	out.add("größer", 1234567, "")
	var b strings.Builder
	if err := out.print(&b); err != nil {
		t.Fatal(err)
	}
	want := "NAME      COUNT  WHAT\n" +
		"a             5  x\n" +
		"größer  1234567\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_550_000: "1.6 MB", 9e18: "9000.0 PB"} {
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestAddClamped(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct{ a, b, want int64 }{{5, 3, 8}, {5, -8, -3}, {most, 1, most}, {0, -most, -most}, {most, -most, 0}} {
		if got := addClamped(c.a, c.b); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
