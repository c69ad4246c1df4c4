package message

import (
	"testing"
	"time"

	"brokerd/log"
)

func BenchmarkRecord(b *testing.B) {
	at := time.UnixMilli(1)
	for name, m := range map[string]Message{
		"plain":   {Sequence: 1, Time: at, Subject: "orders.eu.7", Data: make([]byte, 256)},
		"headers": {Sequence: 1, Time: at, Subject: "orders.eu.7", Header: lines("Nats-Msg-Id: 4711", "trace: 0af7651916cd43dd"), Data: make([]byte, 256)},
		"kept":    {Sequence: 1, Time: at, Subject: "orders.eu.7", Header: lines("Nats-Msg-Id:4711", "trace:0af7651916cd43dd"), Data: make([]byte, 256)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				orders.Record(m)
			}
		})
	}
}

func BenchmarkMessage(b *testing.B) {
	key, value := []byte("eu.7"), make([]byte, 256)
	for name, r := range map[string]log.Record{
		"plain":   {Key: key, Value: value},
		"headers": {Key: key, Value: value, Headers: header("Nats-Msg-Id", "4711", "trace", "0af7651916cd43dd")},
		"kept":    {Key: key, Value: value, Headers: header("a", "1", "nats.header", "NATS/1.0\r\na:1\r\n\r\n")},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				orders.Message(r)
			}
		})
	}
}
