package nats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"brokerd/topic/message"
	"brokerd/topic/stream"
)

// backup takes a snapshot as the nats tool does: it answers each chunk.
func (w *world) backup(name string) []byte {
	w.t.Helper()
	const inbox = "_INBOX.backup"
	w.door.listen(inbox)
	answer := w.ask("$JS.API.STREAM.SNAPSHOT."+name, "", `{"deliver_subject":"`+inbox+`","chunk_size":1024,"window_size":4096}`)
	if strings.Contains(answer.data, "error") {
		w.t.Fatalf("the snapshot was refused: %s", answer.data)
	}
	var all []byte
	for {
		chunk := w.door.next(w.t, inbox)
		if chunk.data == "" {
			if !strings.HasPrefix(chunk.header, "NATS/1.0 204") {
				w.t.Fatalf("the snapshot ended with %q", chunk.header)
			}
			return all
		}
		all = append(all, chunk.data...)
		w.take(&request{subject: chunk.reply, from: w.caller})
	}
}

// restore sends a snapshot in pieces, and returns what is answered in the end.
func (w *world) restore(name, config string, data []byte) string {
	w.t.Helper()
	answer := w.ask("$JS.API.STREAM.RESTORE."+name, "", `{"config":`+config+`,"state":{}}`)
	_, rest, _ := strings.Cut(answer.data, `"deliver_subject":"`)
	deliver, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return answer.data
	}
	for len(data) > 0 {
		n := min(len(data), 700)
		if got := w.ask(deliver, "", string(data[:n])); got.data != "" {
			return got.data
		}
		data = data[n:]
	}
	return w.ask(deliver, "", "").data
}

// publish publishes n messages on subjects s.0 to s.9, and waits for the last one.
func (w *world) publish(n int) {
	w.t.Helper()
	for i := range n {
		w.ask(fmt.Sprintf("s.%d", i%10), fmt.Sprintf("Number: %d; Nats-Msg-Id: %d", i, i), strings.Repeat("x", i*7%500))
	}
}

func TestASnapshotIsRestored(t *testing.T) {
	w := newWorld(t)
	const config = `{"name":"S","subjects":["s.>"],"max_msgs_per_subject":40,"allow_direct":true}`
	w.ask("$JS.API.STREAM.CREATE.S", "", config)
	w.publish(500)
	for _, sequence := range []int{101, 102, 103, 200, 333, 499, 500} {
		w.ask("$JS.API.STREAM.MSG.DELETE.S", "", fmt.Sprintf(`{"seq":%d}`, sequence))
	}
	w.ask("$JS.API.CONSUMER.CREATE.S.C", "", `{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit","filter_subject":"s.3"}}`)
	first := w.ask("$JS.API.CONSUMER.MSG.NEXT.S.C", "", "")
	w.ask(first.reply, "", "")
	// These two have seen everything but what comes next, wherever else they would begin.
	w.ask("$JS.API.CONSUMER.CREATE.S.N", "", `{"stream_name":"S","config":{"durable_name":"N","ack_policy":"explicit","deliver_policy":"new"}}`)
	w.ask("$JS.API.CONSUMER.CREATE.S.E", "", `{"stream_name":"S","config":{"name":"E","ack_policy":"none","deliver_policy":"new"}}`)
	before := w.everything("S")
	data := w.backup("S")
	w.ask("$JS.API.STREAM.DELETE.S", "", "")

	if got := w.restore("S", config, data); strings.Contains(got, "error") || !strings.Contains(got, "stream_create_response") {
		t.Fatalf("the restore ended with %s", got)
	}
	if after := w.everything("S"); after != before {
		t.Errorf("the stream was\n%s\nand is\n%s", before, after)
	}
	second := w.ask("$JS.API.CONSUMER.MSG.NEXT.S.C", "", "")
	if second.subject != "s.3" || second.data == first.data || !strings.HasPrefix(second.reply, "$JS.ACK.S.C.1.") {
		t.Errorf("after %+v the consumer gave %+v", first, second)
	}
	if got := w.ask("s.1", "", "next"); got.data != `{"stream":"S","seq":501}` {
		t.Errorf("the next message was acknowledged by %s", got)
	}
	if got := w.ask("$JS.API.CONSUMER.MSG.NEXT.S.N", "", ""); got.data != "next" {
		t.Errorf("the consumer of new messages gave %+v", got)
	}
	if names := w.ask("$JS.API.CONSUMER.NAMES.S", "", ""); !strings.Contains(names.data, `"consumers":["C","N"]`) {
		t.Errorf("the consumers are %s", names)
	}
}

// everything is what a stream holds, and says about itself.
func (w *world) everything(name string) string {
	w.t.Helper()
	s, ok := w.api.streams.Get(name)
	if !ok {
		w.t.Fatalf("there is no stream %s", name)
	}
	state, err := s.State()
	if err != nil {
		w.t.Fatal(err)
	}
	state.LastTime = time.Time{} // of a message that is deleted, nothing is restored
	out := fmt.Sprintf("%+v\n%+v\n", settled(fmt.Sprint(s.Config())), state)
	for sequence, ok := s.Next(1, nil); ok; sequence, ok = s.Next(sequence+1, nil) {
		m, err := s.Get(sequence)
		if err != nil {
			w.t.Fatal(err)
		}
		out += fmt.Sprintf("%d %d %s %q %q\n", m.Sequence, m.Time.UnixMilli(), m.Subject, m.Header, m.Data)
	}
	return out
}

func TestAnEmptyStreamKeepsItsPlaceInASnapshot(t *testing.T) {
	w := newWorld(t)
	const config = `{"name":"S","subjects":["s.>"]}`
	w.ask("$JS.API.STREAM.CREATE.S", "", config)
	w.publish(20)
	w.ask("$JS.API.STREAM.PURGE.S", "", "")
	data := w.backup("S")
	w.ask("$JS.API.STREAM.DELETE.S", "", "")
	if got := w.restore("S", config, data); strings.Contains(got, "error") {
		t.Fatalf("the restore ended with %s", got)
	}
	if got := w.ask("s.1", "", "next"); got.data != `{"stream":"S","seq":21}` {
		t.Errorf("the next message was acknowledged by %s", got)
	}
}

func TestNothingIsLeftOfARestoreThatFails(t *testing.T) {
	w := newWorld(t)
	const config = `{"name":"S","subjects":["s.>"]}`
	w.ask("$JS.API.STREAM.CREATE.S", "", config)
	w.publish(300)
	data := w.backup("S")
	w.ask("$JS.API.STREAM.DELETE.S", "", "")
	for name, damaged := range map[string][]byte{
		"nothing":     nil,
		"no snapshot": []byte("this is no snapshot"),
		"cut":         data[:len(data)/2],
		"flipped":     flipped(data, 14), // the first block's checksum; elsewhere S2 may still unpack to the same bytes
	} {
		got := w.restore("S", config, damaged)
		if !strings.Contains(got, `"err_code":10062`) {
			t.Errorf("%s: %s", name, got)
		}
		if names := w.ask("$JS.API.STREAM.NAMES", "", ""); !strings.Contains(names.data, `"streams":[]`) {
			t.Errorf("%s: %s", name, names.data)
		}
	}
	if got := w.restore("S", config, data); strings.Contains(got, "error") {
		t.Errorf("the undamaged snapshot: %s", got)
	}
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x40
	return b
}

func TestRestoreIsRefused(t *testing.T) {
	w := newWorld(t)
	w.ask("$JS.API.STREAM.CREATE.S", "", `{"name":"S"}`)
	for _, c := range []struct{ name, config, want string }{
		{"S", `{"name":"S"}`, `"err_code":10130`},
		{"T", `{"name":"S"}`, `"err_code":10056`},
		{"T", `{"name":"T","bogus":1}`, `"err_code":10025`},
		{"T", `{"name":"T","mirror":{"name":"S"}}`, `"err_code":10062`},
	} {
		if got := w.restore(c.name, c.config, nil); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.config, got, c.want)
		}
	}
}

func TestNobodyTakesASnapshot(t *testing.T) {
	w := newWorld(t)
	w.ask("$JS.API.STREAM.CREATE.S", "", `{"name":"S"}`)
	for _, deliver := range []string{"", "a b", "a.*", "$JS.API.INFO", "$SYS.x"} {
		if got := w.ask("$JS.API.STREAM.SNAPSHOT.S", "", `{"deliver_subject":"`+deliver+`"}`); !strings.Contains(got.data, `"err_code":10015`) {
			t.Errorf("%q: %s", deliver, got.data)
		}
	}
}

func FuzzSnapshotReader(f *testing.F) {
	w := newWorld(f)
	w.ask("$JS.API.STREAM.CREATE.S", "", `{"name":"S","subjects":["s.>"]}`)
	w.publish(5)
	f.Add(w.backup("S"))
	f.Add([]byte("no snapshot"))
	// Never panics; what it reads can be stored, and memory grows with the input.
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := readSnapshot(bytes.NewReader(data))
		for err == nil {
			var all []message.Message
			all, err = r.messages()
			for _, m := range all {
				appendMessage(nil, m)
			}
		}
		if !errors.Is(err, io.EOF) && errors.Is(err, stream.ErrNoMessage) {
			t.Error(err)
		}
	})
}
