// Command cross writes or reads one topic with franz-go or nats.go, for cross.py beside it.
//
//	cross kgo|nats.go ADDRESS write|read TOPIC [COUNT]
//
// Records are lines of JSON, on standard input to write and on standard output when read: their bytes in base64, null for
// null. What NATS cannot hold is escaped as docs/mapping.md says; this program is also an example of that.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"
)

// record is a line. encoding/json writes []byte in base64, and nil as null.
type record struct {
	Key     []byte      `json:"key"`
	Value   []byte      `json:"value"`
	Headers [][2][]byte `json:"headers"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	count := 0
	if len(args) > 4 {
		count, _ = strconv.Atoi(args[4])
	}
	switch {
	case len(args) < 4:
		return fmt.Errorf("usage: cross kgo|nats.go ADDRESS write|read TOPIC [COUNT]")
	case args[0] == "kgo" && args[2] == "write":
		return kafkaWrite(ctx, args[1], args[3])
	case args[0] == "kgo":
		return kafkaRead(ctx, args[1], args[3], count)
	case args[2] == "write":
		return natsWrite(ctx, args[1], args[3])
	}
	return natsRead(ctx, args[1], args[3], count)
}

// eachLine calls f for every record of standard input.
func eachLine(f func(record) error) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

func kafkaWrite(ctx context.Context, address, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer cl.Close()
	return eachLine(func(r record) error {
		out := &kgo.Record{Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: string(h[0]), Value: h[1]})
		}
		return cl.ProduceSync(ctx, out).FirstErr()
	})
}

func kafkaRead(ctx context.Context, address, topic string, count int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer cl.Close()
	out := json.NewEncoder(os.Stdout)
	for count > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			in := record{Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				in.Headers = append(in.Headers, [2][]byte{[]byte(h.Key), h.Value})
			}
			if err := out.Encode(in); err != nil {
				return err
			}
			count--
		}
	}
	return nil
}

func connect(address string) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := nats.Connect("nats://" + address)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	return nc, js, err
}

func natsWrite(ctx context.Context, address, topic string) error {
	nc, js, err := connect(address)
	if err != nil {
		return err
	}
	defer nc.Close()
	return eachLine(func(r record) error {
		_, err := js.PublishMsg(ctx, escape(topic, r))
		return err
	})
}

func natsRead(ctx context.Context, address, topic string, count int) error {
	nc, js, err := connect(address)
	if err != nil {
		return err
	}
	defer nc.Close()
	consumer, err := js.OrderedConsumer(ctx, topic, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	out := json.NewEncoder(os.Stdout)
	for range count {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		r, err := unescape(topic, m)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// escape makes the message that is stored as r.
func escape(topic string, r record) *nats.Msg {
	m := nats.NewMsg(topic)
	m.Data = r.Value
	switch {
	case r.Key == nil:
	case isSubject(string(r.Key)):
		m.Subject += "." + string(r.Key)
	default:
		m.Header.Set("Kafka-Key", base64.StdEncoding.EncodeToString(r.Key))
	}
	if r.Value == nil {
		m.Header.Set("Kafka-Value", "null")
	}
	for _, h := range r.Headers {
		name := string(h[0])
		switch {
		case isPlain(name, h[1]):
			m.Header.Add(name, string(h[1]))
		case h[1] == nil:
			m.Header.Add("Kafka-Header", percent(name))
		default:
			m.Header.Add("Kafka-Header", percent(name)+"="+base64.StdEncoding.EncodeToString(h[1]))
		}
	}
	return m
}

// unescape makes the record that m is.
func unescape(topic string, m jetstream.Msg) (r record, err error) {
	if key, found := strings.CutPrefix(m.Subject(), topic+"."); found {
		r.Key = []byte(key)
	}
	if r.Value = m.Data(); r.Value == nil {
		r.Value = []byte{}
	}
	for name, values := range m.Headers() {
		for _, v := range values {
			switch name {
			case "Kafka-Key":
				r.Key, err = base64.StdEncoding.DecodeString(v)
			case "Kafka-Value":
				r.Value = nil
			case "Kafka-Header":
				escaped, value, found := strings.Cut(v, "=")
				var h [2][]byte
				var plain string
				if plain, err = url.PathUnescape(escaped); err == nil && found {
					h[1], err = base64.StdEncoding.DecodeString(value)
				}
				h[0] = []byte(plain)
				r.Headers = append(r.Headers, h)
			default:
				r.Headers = append(r.Headers, [2][]byte{[]byte(name), []byte(v)})
			}
			if err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func isSubject(s string) bool {
	for token := range strings.SplitSeq(s, ".") {
		if token == "" || token == "*" || token == ">" {
			return false
		}
	}
	return isText(s) && !strings.Contains(s, " ")
}

func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

func isPlain(name string, value []byte) bool {
	return regexp.MustCompile(`^[!-9;-~]+$`).MatchString(name) && !strings.HasPrefix(name, "Kafka-") &&
		value != nil && isText(string(value)) && strings.Trim(string(value), " ") == string(value)
}

func percent(name string) string {
	return regexp.MustCompile(`[^!-~]|[%=]`).ReplaceAllStringFunc(name, func(s string) string {
		escaped := ""
		for i := range len(s) {
			escaped += fmt.Sprintf("%%%02X", s[i])
		}
		return escaped
	})
}
