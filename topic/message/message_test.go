package message

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"brokerd/log"
)

func header(pairs ...string) (all []log.Header) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, log.Header{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return all
}

func lines(lines ...string) []byte {
	return []byte("NATS/1.0\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n")
}

var (
	orders = Naming{Prefix: "orders"}
	whole  = Naming{}
	bucket = Naming{KV: true}
)

// What each side sees of what the other wrote. docs/mapping.md has the same rows in words.
func TestRecordsAndMessages(t *testing.T) {
	binary := []byte{0, 1, 0xff}
	for _, c := range []struct {
		name    string
		naming  Naming
		record  log.Record
		message Message
	}{
		{"key and value", orders,
			log.Record{Key: []byte("eu.7"), Value: []byte("v")},
			Message{Subject: "orders.eu.7", Data: []byte("v")}},
		{"no key", orders,
			log.Record{Value: []byte("v")},
			Message{Subject: "orders", Data: []byte("v")}},
		{"empty key", orders,
			log.Record{Key: []byte{}, Value: []byte("v")},
			Message{Subject: "orders", Header: lines("Kafka-Key: "), Data: []byte("v")}},
		{"binary key", orders,
			log.Record{Key: binary, Value: []byte("v")},
			Message{Subject: "orders", Header: lines("Kafka-Key: AAH/"), Data: []byte("v")}},
		{"wildcard in the key", orders,
			log.Record{Key: []byte("a.*"), Value: []byte("v")},
			Message{Subject: "orders", Header: lines("Kafka-Key: YS4q"), Data: []byte("v")}},
		{"the subject is the key", whole,
			log.Record{Key: []byte("eu.7"), Value: []byte("v")},
			Message{Subject: "eu.7", Data: []byte("v")}},
		{"no key among subjects", whole,
			log.Record{Value: []byte("v")},
			Message{Subject: "$KAFKA", Data: []byte("v")}},
		{"the key that looks like none", whole,
			log.Record{Key: []byte("$KAFKA"), Value: []byte("v")},
			Message{Subject: "$KAFKA", Header: lines("Kafka-Key: JEtBRktB"), Data: []byte("v")}},
		{"no value", orders,
			log.Record{Key: []byte("k")},
			Message{Subject: "orders.k", Header: lines("Kafka-Value: null")}},
		{"empty value", orders,
			log.Record{Key: []byte("k"), Value: []byte{}},
			Message{Subject: "orders.k"}},
		{"tombstone", bucket,
			log.Record{Key: []byte("$KV.b.k")},
			Message{Subject: "$KV.b.k", Header: lines("KV-Operation: DEL")}},
		{"purge", bucket,
			log.Record{Key: []byte("$KV.b.k"), Headers: header("KV-Operation", "PURGE", "Nats-Rollup", "sub")},
			Message{Subject: "$KV.b.k", Header: lines("KV-Operation: PURGE", "Nats-Rollup: sub")}},
		{"tombstone with the header that says so", bucket,
			log.Record{Key: []byte("$KV.b.k"), Headers: header("KV-Operation", "DEL")},
			Message{Subject: "$KV.b.k", Header: lines("Kafka-Value: null", "KV-Operation: DEL")}},
		{"empty value that looks deleted", bucket,
			log.Record{Key: []byte("$KV.b.k"), Value: []byte{}, Headers: header("A", "", "KV-Operation", "DEL")},
			Message{Subject: "$KV.b.k", Header: lines("Kafka-Value: empty", "A: ", "KV-Operation: DEL")}},
		{"headers", orders,
			log.Record{Value: []byte("v"), Headers: header("b", "1", "a", "", "b", "grün")},
			Message{Subject: "orders", Header: lines("b: 1", "a: ", "b: grün"), Data: []byte("v")}},
		{"headers that NATS cannot hold", orders,
			log.Record{Value: []byte("v"), Headers: append(header("a", "\r\n", "b", " x", "c d", "1", "Kafka-Key", "2", "", ""),
				log.Header{Key: "100%=é"})},
			Message{Subject: "orders", Data: []byte("v"), Header: lines("Kafka-Header: a=DQo=", "Kafka-Header: b=IHg=",
				"Kafka-Header: c%20d=MQ==", "Kafka-Header: Kafka-Key=Mg==", "Kafka-Header: =",
				"Kafka-Header: 100%25%3D%C3%A9")}},
		{"a block without spaces", orders,
			log.Record{Value: []byte("v"), Headers: header("a", "1", "nats.header", "NATS/1.0\r\na:1\r\n\r\n")},
			Message{Subject: "orders", Header: lines("a:1"), Data: []byte("v")}},
		{"a status", orders,
			log.Record{Value: []byte{}, Headers: header("a", "1", "nats.header", "NATS/1.0 503 No\r\na: 1\r\n\r\n")},
			Message{Subject: "orders", Header: []byte("NATS/1.0 503 No\r\na: 1\r\n\r\n")}},
		{"a binary key by NATS, among other headers", orders,
			log.Record{Key: binary, Value: []byte("v"),
				Headers: header("a", "1", "nats.header", "NATS/1.0\r\na: 1\r\nKafka-Key: AAH/\r\n\r\n")},
			Message{Subject: "orders", Header: lines("a: 1", "Kafka-Key: AAH/"), Data: []byte("v")}},
		{"a reserved name by NATS that says nothing", orders,
			log.Record{Value: []byte("v"), Headers: header("Kafka-Key", "?", "nats.header", "NATS/1.0\r\nKafka-Key: ?\r\n\r\n")},
			Message{Subject: "orders", Header: lines("Kafka-Key: ?"), Data: []byte("v")}},
		{"a reserved name by Kafka that says nothing", orders,
			log.Record{Value: []byte("v"), Headers: header("nats.header", "x: y")},
			Message{Subject: "orders", Header: []byte("x: y"), Data: []byte("v")}},
		{"not below the prefix", orders,
			log.Record{Key: []byte("other"), Value: []byte("v"),
				Headers: []log.Header{{Key: "nats.header"}, {Key: "nats.subject", Value: []byte("other")}}},
			Message{Subject: "other", Data: []byte("v")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.record.Offset, c.record.Timestamp = 6, 1234
			c.message.Sequence, c.message.Time = 7, time.UnixMilli(1234).UTC()
			if r := c.naming.Record(c.message); !same(r, c.record) || r.Offset != 6 || r.Timestamp != 1234 {
				t.Errorf("Record: got\n%s, want\n%s", text(r), text(c.record))
			}
			m := c.naming.Message(c.record)
			if !identical(m, c.message) {
				t.Errorf("Message: got\n%s, want\n%s", text(m), text(c.message))
			}
			if s := c.naming.Subject(c.record); s != c.message.Subject {
				t.Errorf("Subject: got %q, want %q", s, c.message.Subject)
			}
		})
	}
}

// identical compares messages as they travel: NATS has no null.
func identical(a, b Message) bool {
	return a.Sequence == b.Sequence && a.Time.Equal(b.Time) && a.Subject == b.Subject &&
		bytes.Equal(a.Header, b.Header) && bytes.Equal(a.Data, b.Data)
}

func TestLongKeysTravelInAHeader(t *testing.T) {
	fits, long := strings.Repeat("k", maxSubject-len("orders.")), strings.Repeat("k", maxSubject)
	if s := orders.Subject(log.Record{Key: []byte(fits)}); s != "orders."+fits {
		t.Errorf("a key that fits has a subject of %d bytes", len(s))
	}
	m := orders.Message(log.Record{Key: []byte(long), Value: []byte("v")})
	if m.Subject != "orders" || !bytes.Contains(m.Header, []byte(fieldKey)) {
		t.Errorf("a long key has the subject %q and the header %.40q", m.Subject, m.Header)
	}
	r := orders.Record(Message{Subject: "orders." + long})
	if string(r.Key) != long || orders.Subject(r) != "orders."+long {
		t.Errorf("a long subject is stored under %.20q, and read as %.20q", r.Key, orders.Subject(r))
	}
}

func TestForTopic(t *testing.T) {
	for topic, prefix := range map[string]string{"orders": "orders", "a.b": "a.b", "a..b": "a__b", ".a": "_a", "a.": "a_"} {
		if n := ForTopic(topic); n.Prefix != prefix || n.KV {
			t.Errorf("%s: %+v, want %s", topic, n, prefix)
		}
	}
}

// text shows bytes as text.
func text(a any) string { return strings.ReplaceAll(fmt.Sprintf("%q", a), "%!q", "") }
