package tests

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

var rewriteTable = flag.Bool("update", false, "write the table of docs/mapping.md anew")

// crossing is a record, and what NATS clients see of it in the topic "t". docs/mapping.md has the rules.
type crossing struct {
	what    string
	record  kgo.Record
	subject string
	header  nats.Header
	data    string
}

func bytesOf(s string) []byte { return []byte(s) }

func headersOf(pairs ...string) (all []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return all
}

func crossings() []crossing {
	b64 := base64.StdEncoding.EncodeToString
	v := bytesOf("v")
	viaHeader := func(what, key string) crossing {
		return crossing{what, kgo.Record{Key: bytesOf(key), Value: v}, "t", nats.Header{"Kafka-Key": {b64(bytesOf(key))}}, "v"}
	}
	return []crossing{
		{"text", kgo.Record{Key: bytesOf("k"), Value: v}, "t.k", nil, "v"},
		{"tokens", kgo.Record{Key: bytesOf("eu.berlin.7"), Value: v}, "t.eu.berlin.7", nil, "v"},
		{"UTF-8", kgo.Record{Key: bytesOf("größe"), Value: bytesOf("ü")}, "t.größe", nil, "ü"},
		{"no key", kgo.Record{Value: v}, "t", nil, "v"},
		viaHeader("empty key", ""),
		viaHeader("binary key", "\x00\x01\xff"),
		viaHeader("white space in the key", "a b"),
		viaHeader("empty token in the key", "a..b"),
		viaHeader("wildcard in the key", "a.*"),
		{"null value", kgo.Record{Key: bytesOf("k")}, "t.k", nats.Header{"Kafka-Value": {"null"}}, ""},
		{"empty value", kgo.Record{Key: bytesOf("k"), Value: []byte{}}, "t.k", nil, ""},
		{"binary value", kgo.Record{Key: bytesOf("k"), Value: bytesOf("\x00\r\n\xff")}, "t.k", nil, "\x00\r\n\xff"},
		{"headers", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("b", "1", "a", "ü", "b", "2")}, "t.k",
			nats.Header{"b": {"1", "2"}, "a": {"ü"}}, "v"},
		{"empty header", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("a", "")}, "t.k", nats.Header{"a": {""}}, "v"},
		{"null header", kgo.Record{Key: bytesOf("k"), Value: v, Headers: []kgo.RecordHeader{{Key: "a"}}}, "t.k",
			nats.Header{"Kafka-Header": {"a"}}, "v"},
		{"binary header", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("a", "\x00\xff")}, "t.k",
			nats.Header{"Kafka-Header": {"a=AP8="}}, "v"},
		{"CR LF in a header", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("a", "1\r\nb: 2")}, "t.k",
			nats.Header{"Kafka-Header": {"a=" + b64(bytesOf("1\r\nb: 2"))}}, "v"},
		{"odd header names", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("a b", "1", "", "2", "c:", "3")}, "t.k",
			nats.Header{"Kafka-Header": {"a%20b=MQ==", "=Mg==", "c:=Mw=="}}, "v"},
		{"a reserved name", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("Kafka-Key", "x")}, "t.k",
			nats.Header{"Kafka-Header": {"Kafka-Key=eA=="}}, "v"},
		{"looks stored by NATS", kgo.Record{Key: bytesOf("k"), Value: v, Headers: headersOf("nats.header", "x", "a", "1")}, "t.k",
			nats.Header{"nats.header": {"x"}, "a": {"1"}}, "v"},
	}
}

// What Kafka writes NATS reads, as docs/mapping.md says; and when a NATS client publishes what it read, Kafka reads the same
// record again.
func TestKafkaToNATSAndBack(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	cl := client(t, s)
	js := jetStream(t, s)
	for _, topic := range []string{"t", "back"} {
		create(t, cl, topic, 1, nil)
	}
	all := crossings()
	var sent []*kgo.Record
	for _, c := range all {
		r := c.record
		r.Topic = "t"
		sent = append(sent, &r)
	}
	publish(t, cl, harness.NewLedger(), sent...)
	received := messages(t, js, "t")
	if len(received) != len(all) {
		t.Fatalf("%d records are %d messages", len(all), len(received))
	}
	for i, c := range all {
		m := received[i]
		if m.Subject() != c.subject || !equalHeaders(m.Headers(), c.header) || string(m.Data()) != c.data {
			t.Errorf("%s: on %s %q: %q", c.what, m.Subject(), m.Headers(), m.Data())
		}
		about := metadata(t, m)
		if about.Sequence.Stream != uint64(sent[i].Offset)+1 || !about.Timestamp.Equal(sent[i].Timestamp.Truncate(time.Millisecond)) {
			t.Errorf("%s: message %d of %s for offset %d of %s", c.what, about.Sequence.Stream, about.Timestamp, sent[i].Offset, sent[i].Timestamp)
		}
		again := &nats.Msg{Subject: "back" + strings.TrimPrefix(m.Subject(), "t"), Header: m.Headers(), Data: m.Data()}
		if _, err := js.PublishMsg(limited(t, 20*time.Second), again); err != nil {
			t.Fatalf("%s: publish it again: %v", c.what, err)
		}
	}
	back, err := harness.ReadAll(limited(t, 60*time.Second), s.Kafka, "back")
	if err != nil || len(back) != len(all) {
		t.Fatalf("%d records came back: %v", len(back), err)
	}
	for i, c := range all {
		if !equalRecords(*back[i], c.record) {
			t.Errorf("%s: came back as %q %q %q", c.what, back[i].Key, back[i].Value, back[i].Headers)
		}
	}
	checkTable(t, all)
}

func equalHeaders(a, b nats.Header) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }

// equalRecords compares what a client of NATS can keep: its header is a map, so that the order of different names is
// the client's, and a record in another order tells so in a header of its own.
func equalRecords(a, b kgo.Record) bool {
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	byName := func(r kgo.Record) []kgo.RecordHeader {
		all := slices.DeleteFunc(slices.Clone(r.Headers), func(h kgo.RecordHeader) bool {
			return h.Key == "nats.header" && bytes.HasPrefix(h.Value, bytesOf("NATS/"))
		})
		slices.SortStableFunc(all, func(a, b kgo.RecordHeader) int { return strings.Compare(a.Key, b.Key) })
		return all
	}
	return same(a.Key, b.Key) && same(a.Value, b.Value) &&
		slices.EqualFunc(byName(a), byName(b), func(a, b kgo.RecordHeader) bool { return a.Key == b.Key && same(a.Value, b.Value) })
}

// checkTable compares the table in docs/mapping.md with what was seen.
func checkTable(t *testing.T, all []crossing) {
	t.Helper()
	const page, begin, end = "../docs/mapping.md", "<!-- begin of what tests see -->\n", "<!-- end of what tests see -->\n"
	var table strings.Builder
	table.WriteString(begin + "| | key | value | record headers | subject | NATS headers | data |\n|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		var headers, lines []string
		for _, h := range c.record.Headers {
			headers = append(headers, show([]byte(h.Key))+"="+show(h.Value))
		}
		for _, name := range slices.Sorted(maps.Keys(c.header)) {
			for _, v := range c.header[name] {
				lines = append(lines, "`"+name+": "+v+"`")
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | `%s` | %s | %s |\n", c.what, show(c.record.Key), show(c.record.Value),
			strings.Join(headers, ", "), c.subject, strings.Join(lines, ", "), show([]byte(c.data)))
	}
	table.WriteString(end)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, foot, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s has no place for the table", page)
	case head+table.String()+foot == string(text):
	case *rewriteTable:
		if err := os.WriteFile(page, []byte(head+table.String()+foot), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has another table; run the test with -update", page)
	}
}

// show writes bytes as text in a table.
func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) == 0:
		return "empty"
	}
	return "`" + strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", b), "|", `\|`), `"`) + "`"
}

// What NATS writes Kafka reads, from a stream with subjects of its own.
func TestNATSToKafka(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"one", "two.>"}})
	ctx := limited(t, 60*time.Second)
	sent := []*nats.Msg{
		{Subject: "one", Data: []byte("v")},
		{Subject: "two.a.b", Data: []byte("\x00\r\n\xff")},
		{Subject: "two.empty"},
		{Subject: "two.h", Header: nats.Header{"a": {"1", "2"}, "b": {""}}, Data: []byte("v")},
		{Subject: "two.null", Header: nats.Header{"Kafka-Value": {"null"}}},
		{Subject: "two.binary", Header: nats.Header{"Kafka-Header": {"x=AP8=", "y"}}, Data: []byte("v")},
		{Subject: "two.forged", Header: nats.Header{"Kafka-Header": {"%%%"}}, Data: []byte("v")},
	}
	var at []uint64
	for _, m := range sent {
		ack, err := js.PublishMsg(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, ack.Sequence)
	}
	read, err := harness.ReadAll(ctx, s.Kafka, "S")
	if err != nil || len(read) != len(sent) {
		t.Fatalf("%d messages are %d records: %v", len(sent), len(read), err)
	}
	want := []kgo.Record{
		{Key: bytesOf("one"), Value: bytesOf("v")},
		{Key: bytesOf("two.a.b"), Value: bytesOf("\x00\r\n\xff")},
		{Key: bytesOf("two.empty"), Value: []byte{}},
		{Key: bytesOf("two.h"), Value: bytesOf("v"), Headers: headersOf("a", "1", "a", "2", "b", "")},
		{Key: bytesOf("two.null")},
		{Key: bytesOf("two.binary"), Value: bytesOf("v"), Headers: append(headersOf("x", "\x00\xff"), kgo.RecordHeader{Key: "y"})},
		{Key: bytesOf("two.forged"), Value: bytesOf("v"), Headers: headersOf("Kafka-Header", "%%%")},
	}
	for i, r := range read {
		if !equalRecords(*r, want[i]) || r.Offset != int64(at[i])-1 {
			t.Errorf("message %d on %s is record %d: %q %q %q", at[i], sent[i].Subject, r.Offset, r.Key, r.Value, r.Headers)
		}
	}
	for i, m := range messages(t, js, "S") {
		if m.Subject() != sent[i].Subject || !equalHeaders(m.Headers(), sent[i].Header) || !bytes.Equal(m.Data(), sent[i].Data) {
			t.Errorf("message %d came back on %s with %q: %q", i+1, m.Subject(), m.Headers(), m.Data())
		}
	}
}

// Keys that a bucket's clients put, delete and purge are records and tombstones; and the other way round.
func TestBucketsAreTopics(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	ctx := limited(t, 60*time.Second)
	bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b", History: 10})
	if err != nil {
		t.Fatal(err)
	}
	steps := []func() error{
		func() error { _, err := bucket.Put(ctx, "colour", bytesOf("blue")); return err },
		func() error { _, err := bucket.Put(ctx, "size", bytesOf("7")); return err },
		func() error { return bucket.Delete(ctx, "colour") },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	read, err := harness.ReadAll(ctx, s.Kafka, "KV_b")
	if err != nil || len(read) != 3 {
		t.Fatalf("%d records: %v", len(read), err)
	}
	for i, want := range []kgo.Record{
		{Key: bytesOf("$KV.b.colour"), Value: bytesOf("blue")}, {Key: bytesOf("$KV.b.size"), Value: bytesOf("7")},
		{Key: bytesOf("$KV.b.colour")},
	} {
		if !equalRecords(*read[i], want) {
			t.Errorf("record %d is %q %q %q", i, read[i].Key, read[i].Value, read[i].Headers)
		}
	}
	watcher, err := bucket.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	publish(t, client(t, s), harness.NewLedger(),
		&kgo.Record{Topic: "KV_b", Key: bytesOf("$KV.b.shape"), Value: bytesOf("round")},
		&kgo.Record{Topic: "KV_b", Key: bytesOf("$KV.b.size")})
	for _, want := range []struct {
		key, value string
		operation  jetstream.KeyValueOp
	}{{"shape", "round", jetstream.KeyValuePut}, {"size", "", jetstream.KeyValueDelete}} {
		select {
		case e := <-watcher.Updates():
			if e == nil || e.Key() != want.key || string(e.Value()) != want.value || e.Operation() != want.operation {
				t.Errorf("the watcher saw %+v, want %+v", e, want)
			}
		case <-ctx.Done():
			t.Fatal("the watcher saw nothing")
		}
	}
	if e, err := bucket.Get(ctx, "shape"); err != nil || string(e.Value()) != "round" {
		t.Errorf("get what Kafka produced: %v, %v", e, err)
	}
	if _, err := bucket.Get(ctx, "size"); err == nil {
		t.Error("a key that a tombstone of Kafka's deleted can be read")
	}
}

// What one side deletes is gone for the other, and offsets stay.
func TestDeletesCross(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	js := jetStream(t, s)
	ctx := limited(t, 60*time.Second)
	stream := createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}})
	for i := range 10 {
		if _, err := js.Publish(ctx, fmt.Sprintf("s.%d", i%2), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want ...int64) {
		t.Helper()
		offsets, sequences := readableOffsets(t, s, "S", len(want)), []int64(nil)
		for _, m := range messages(t, js, "S") {
			sequences = append(sequences, int64(metadata(t, m).Sequence.Stream)-1)
		}
		if !slices.Equal(offsets, want) || !slices.Equal(sequences, want) {
			t.Errorf("%s: Kafka reads %v, NATS %v, want %v", when, offsets, sequences, want)
		}
	}
	if err := stream.DeleteMsg(ctx, 4); err != nil {
		t.Fatal(err)
	}
	expect("a message deleted", 0, 1, 2, 4, 5, 6, 7, 8, 9)
	if err := stream.SecureDeleteMsg(ctx, 10); err != nil { // the last one
		t.Fatal(err)
	}
	expect("the last one erased", 0, 1, 2, 4, 5, 6, 7, 8)
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject("s.1")); err != nil {
		t.Fatal(err)
	}
	expect("a subject purged", 0, 2, 4, 6, 8)
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(5)); err != nil {
		t.Fatal(err)
	}
	expect("the front purged", 4, 6, 8)
	s = restart(t, s)
	js = jetStream(t, s)
	expect("after a restart", 4, 6, 8)
	if ack, err := js.Publish(ctx, "s.1", nil); err != nil || ack.Sequence != 11 {
		t.Errorf("the next message: %+v, %v", ack, err)
	}
}

// DeleteRecords takes messages from the stream that a topic is, and deleting either deletes both.
func TestKafkaDeletesForNATS(t *testing.T) {
	t.Parallel()
	s := start(t, options(t))
	cl := client(t, s)
	js := jetStream(t, s)
	ctx := limited(t, 60*time.Second)
	adm := kadm.NewClient(cl)
	create(t, cl, "T", 1, nil)
	publish(t, cl, harness.NewLedger(), newMaker(1).records("T", 0, 10, 20)...)
	at := kadm.Offsets{}
	at.Add(kadm.Offset{Topic: "T", Partition: 0, At: 4, LeaderEpoch: -1})
	if deleted, err := adm.DeleteRecords(ctx, at); errors.Join(err, deleted.Error()) != nil {
		t.Fatal(err, deleted.Error())
	}
	stream, err := js.Stream(ctx, "T")
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.FirstSeq != 5 || state.Msgs != 6 || state.LastSeq != 10 {
		t.Errorf("the stream has %+v", state)
	}
	if deleted, err := adm.DeleteTopic(ctx, "T"); errors.Join(err, deleted.Err) != nil {
		t.Fatal(err, deleted.Err)
	}
	if _, err := js.Stream(ctx, "T"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream of a deleted topic: %v", err)
	}
	createStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	if err := js.DeleteStream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	if topics, err := adm.ListTopics(ctx); err != nil || topics.Has("S") {
		t.Errorf("the topics after the stream was deleted: %v, %v", topics.Names(), err)
	}
}

// readableOffsets reads the offsets of n records, and of those that follow at once. The end of the log may have no records.
func readableOffsets(t *testing.T, s *harness.Server, topic string, n int) (offsets []int64) {
	t.Helper()
	cl := client(t, s, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer cl.Close()
	ctx := limited(t, 30*time.Second)
	for len(offsets) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records of %s: %v", len(offsets), n, topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { offsets = append(offsets, r.Offset) })
	}
	cl.PollFetches(limited(t, 300*time.Millisecond)).EachRecord(func(r *kgo.Record) { offsets = append(offsets, r.Offset) })
	return offsets
}
