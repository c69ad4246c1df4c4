package message

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log"
)

func namings() *rapid.Generator[Naming] {
	return rapid.Custom(func(t *rapid.T) Naming {
		return Naming{rapid.SampledFrom([]string{"", "t", "a.b"}).Draw(t, "prefix"), rapid.Bool().Draw(t, "kv")}
	})
}

// texts are pieces that mean something in one of the two forms, and arbitrary bytes.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "a", " ", ".", "*", ">", ":", "=", "%", "%20", "\r\n", "\n", "\r", "\t", "\x00", "é", "\xff", "t", "t.", "a.b.",
			keyless, opening, fieldKey, fieldValue, fieldHeader, fieldOperation, deleteKey, purgeKey, nullValue, emptyValue,
			keptHeader, keptSubject, ": ", "YQ==", "a=YQ==", strings.Repeat("long", maxSubject/4),
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 4), func(all []string) string { return strings.Join(all, "") })
}

func values() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		switch rapid.IntRange(0, 5).Draw(t, "null or empty") {
		case 0:
			return nil
		case 1:
			return []byte{}
		}
		return []byte(texts().Draw(t, "value"))
	})
}

func records() *rapid.Generator[log.Record] {
	name := rapid.OneOf(texts(),
		rapid.SampledFrom([]string{"a", fieldKey, fieldValue, fieldHeader, fieldOperation, keptHeader, keptSubject}))
	value := rapid.OneOf(values(), rapid.Map(rapid.SampledFrom([]string{deleteKey, purgeKey, "1"}),
		func(s string) []byte { return []byte(s) }))
	h := rapid.Custom(func(t *rapid.T) log.Header {
		return log.Header{Key: name.Draw(t, "name"), Value: value.Draw(t, "value")}
	})
	return rapid.Custom(func(t *rapid.T) log.Record {
		r := log.Record{
			Offset: rapid.Int64Min(0).Draw(t, "offset"), Timestamp: rapid.Int64().Draw(t, "time"),
			Key: values().Draw(t, "key"), Value: values().Draw(t, "data"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "headers") {
			r.Headers = append(r.Headers, h.Draw(t, "header"))
		}
		return r
	})
}

// blocks are header blocks, from canonical to anything.
func blocks() *rapid.Generator[[]byte] {
	line := rapid.Custom(func(t *rapid.T) string {
		name := rapid.OneOf(texts(), rapid.SampledFrom([]string{"a", fieldKey, fieldValue, fieldHeader, fieldOperation, keptHeader})).Draw(t, "name")
		value := rapid.OneOf(texts(), rapid.SampledFrom([]string{deleteKey, purgeKey, nullValue, emptyValue, "1"}),
			rapid.Map(texts(), func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
			rapid.Map(texts(), func(s string) string { return "a=" + base64.StdEncoding.EncodeToString([]byte(s)) })).Draw(t, "value")
		return name + rapid.SampledFrom([]string{": ", ": ", ": ", ":", ":  "}).Draw(t, "colon") + value +
			rapid.SampledFrom([]string{"\r\n", "\r\n", "\r\n", "\n", ""}).Draw(t, "end")
	})
	whole := rapid.Map(rapid.SliceOfN(line, 0, 4), func(all []string) []byte {
		return []byte(opening + strings.Join(all, "") + "\r\n")
	})
	return rapid.OneOf(whole, values())
}

func messages() *rapid.Generator[Message] {
	return rapid.Custom(func(t *rapid.T) Message {
		return Message{
			Sequence: rapid.Uint64Range(1, 1<<62).Draw(t, "sequence"), Time: time.UnixMilli(rapid.Int64().Draw(t, "time")),
			Subject: rapid.OneOf(rapid.SampledFrom([]string{"t", "t.k", "a.b", "a.b.k", keyless}), texts()).Draw(t, "subject"),
			Header:  blocks().Draw(t, "header"), Data: values().Draw(t, "data"),
		}
	})
}

func checkMessage(t rapid.TB, n Naming, m Message) log.Record {
	r := n.Record(m)
	if back := n.Message(r); !identical(back, m) {
		t.Fatalf("the message\n%s is stored as\n%s, which is read as\n%s", text(m), text(r), text(back))
	}
	if s := n.Subject(r); s != m.Subject {
		t.Fatalf("the subject %q of %s is read as %q", m.Subject, text(r), s)
	}
	return r
}

func checkRecord(t rapid.TB, n Naming, r log.Record) Message {
	m := n.Message(r)
	if back := n.Record(m); !same(back, r) || back.Offset != r.Offset || back.Timestamp != r.Timestamp {
		t.Fatalf("the record\n%s is read as\n%s, which is stored as\n%s", text(r), text(m), text(back))
	}
	return m
}

// A NATS client reads what a NATS client published; a Kafka client reads what a Kafka client produced, even if a NATS
// client read it and published it again. That holds as well for what one of them made to look like the result of the other.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := namings().Draw(t, "naming")
		m := messages().Draw(t, "message")
		for range 3 {
			r := checkMessage(t, n, m)
			checkRecord(t, n, r)
			m = n.show(r)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := namings().Draw(t, "naming")
		r := records().Draw(t, "record")
		for range 3 {
			m := checkRecord(t, n, r)
			checkMessage(t, n, m)
			first, _ := n.read(m)
			r = n.keep(first, m)
		}
	})
}

// The target's invariants: no panic; both directions are the identity on whatever bytes; a message's forms are no larger
// than a small multiple of it.
func FuzzNaming(f *testing.F) {
	f.Add("t", true, "t.k", []byte("NATS/1.0\r\nKV-Operation: DEL\r\n\r\n"), []byte{})
	f.Add("", false, keyless, []byte("NATS/1.0\r\nKafka-Key: AAA=\r\nKafka-Header: a=YQ==\r\n\r\n"), []byte("v"))
	f.Add("t", false, "t", []byte("NATS/1.0 503\r\nnats.header: x\r\n\r\n"), []byte("v"))
	f.Fuzz(func(t *testing.T, prefix string, kv bool, subject string, header, data []byte) {
		n := Naming{prefix, kv}
		m := Message{Sequence: 1, Time: time.UnixMilli(1), Subject: subject, Header: header, Data: data}
		r := checkMessage(t, n, m)
		checkRecord(t, n, log.Record{Key: []byte(subject), Value: data, Headers: r.Headers})
		checkRecord(t, n, log.Record{Value: data, Headers: []log.Header{{Key: subject, Value: header}, {Key: keptHeader, Value: header}}})
	})
}

// Forms within forms shrink fast: the work for the most deeply nested ones grows with their size alone.
func TestNestingIsBounded(t *testing.T) {
	m := Message{Sequence: 1, Time: time.UnixMilli(1), Subject: "t", Header: lines("a:1")}
	depth := 0
	for len(m.Header) < 1<<20 {
		checkMessage(t, orders, m)
		first, _ := orders.read(m)
		m = orders.show(orders.keep(first, m))
		depth++
	}
	if depth > 60 {
		t.Errorf("%d levels fit into a megabyte", depth)
	}
}
