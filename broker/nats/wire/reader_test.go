package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

var testLimits = Limits{Line: 64, Payload: 128}

// pieces gives a stream in reads of the sizes that cut says, over and over.
type pieces struct {
	rest string
	cut  []byte
	next int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := len(b)
	if len(p.cut) > 0 {
		n = min(n, int(p.cut[p.next%len(p.cut)])+1)
		p.next++
	}
	n = copy(b[:n], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// transcript reads everything and shows it as text.
func transcript(r *Reader) string {
	var b strings.Builder
	for {
		c, err := r.Next()
		if err != nil {
			if answer := Answer(err); answer != "" {
				fmt.Fprintf(&b, "-ERR %s", answer)
			} else if !errors.Is(err, io.EOF) {
				b.WriteString("closed")
			} else {
				b.WriteString("open")
			}
			return b.String()
		}
		switch c.Verb {
		case Connect:
			fmt.Fprintf(&b, "CONNECT %s; ", c.Options)
		case Publish:
			fmt.Fprintf(&b, "PUB %q %q %q %q; ", c.Subject, c.Reply, c.Header, c.Data)
		case Subscribe:
			fmt.Fprintf(&b, "SUB %q %q %q; ", c.Subject, c.Queue, c.SID)
		case Unsubscribe:
			fmt.Fprintf(&b, "UNSUB %q %d; ", c.SID, c.Max)
		case Ping:
			b.WriteString("PING; ")
		case Pong:
			b.WriteString("PONG; ")
		case Nothing:
			b.WriteString("nothing; ")
		}
	}
}

// The answers are nats-server's.
func TestCommands(t *testing.T) {
	const unknown, tooLong = "-ERR Unknown Protocol Operation", "-ERR maximum control line exceeded"
	for input, want := range map[string]string{
		"PING\r\nping\r\nPiNg\nPONG\r\n": "PING; PING; PING; PONG; open",
		"PINGxyz\r\nPONG x\r\n":          "PING; PONG; open",
		"INFO {}\r\n+OK\r\n+ok\r\n":      "nothing; nothing; nothing; open",
		"-ERR 'x'\r\n":                   "closed",
		"+FOO\r\n":                       unknown,
		"FOO\r\n":                        unknown,
		"X":                              unknown,
		"GET / HTTP/1.1\r\n":             unknown,
		"\r\n":                           unknown,
		"\n":                             unknown,
		"PI\r\n":                         unknown,
		"PU":                             "open",
		"MSG a 1 0\r\n\r\n":              unknown,

		"CONNECT {\"a\":1}\r\n":    `CONNECT {"a":1}; open`,
		"connect\t {\"a\":1}\n":    `CONNECT {"a":1}; open`,
		"CONNECT{}\r\nCONNECT\r\n": `CONNECT {}; CONNECT ; open`,

		"PUB a 2\r\nhi\r\n":                    `PUB "a" "" "" "hi"; open`,
		"pub a b 2\nhi\r\n":                    `PUB "a" "b" "" "hi"; open`,
		"PUB\ta\t \tb  2 \t\r\nhi\r\nPING\n":   `PUB "a" "b" "" "hi"; PING; open`,
		"PUB a 0\r\n\r\nPUB b 000000000\n\r\n": `PUB "a" "" "" ""; PUB "b" "" "" ""; open`,
		"PUB a 10\r\nPING\r\nPING\r\nPING\r\n": `PUB "a" "" "" "PING\r\nPING"; PING; open`,
		"PUB a\rb 0\r\n\r\n":                   `PUB "a\rb" "" "" ""; open`,
		"PUB a\x00\xff 0\r\n\r\n":              `PUB "a\x00\xff" "" "" ""; open`,
		"PUB\r\n":                              unknown,
		"PUB \r\n":                             "closed",
		"PUB a\r\n":                            "closed",
		"PUB a b c 0\r\n\r\n":                  "closed",
		"PUB a -1\r\n\r\n":                     "closed",
		"PUB a +1\r\nx\r\n":                    "closed",
		"PUB a 1x\r\n\r\n":                     "closed",
		"PUB a 0000000002\r\nhi\r\n":           "closed",
		"PUB a 11111111111111111111\r\n\r\n":   "closed",
		"PUB a 129\r\n":                        "-ERR Maximum Payload Violation",
		"PUB a 999999999\r\n":                  "-ERR Maximum Payload Violation",
		"PUB a 2\r\nhixxPING\r\n":              unknown,
		"PUB a 2\r\nhi\nPING\r\n":              unknown,
		"PUB a 2\r\nhi\rxPING\r\n":             unknown,
		"PUB a 4\r\nhi\r\nPING\r\nPING\r\n":    unknown,
		"PUB a 5\r\nhi\r\n":                    "open",

		"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n":   `PUB "a" "" "NATS/1.0\r\n\r\n" "hi"; open`,
		"hpub a b 12 12\r\nNATS/1.0\r\n\r\n\r\n":   `PUB "a" "b" "NATS/1.0\r\n\r\n" ""; open`,
		"HPUB a 0 2\r\nhi\r\n":                     `PUB "a" "" "" "hi"; open`,
		"HPUB a 2 2\r\nhi\r\n":                     `PUB "a" "" "hi" ""; open`,
		"HPUB a 12 5\r\nNATS/1.0\r\n\r\n\r\n":      "closed",
		"HPUB a 2\r\nhi\r\n":                       "closed",
		"HPUB a b c 2 2\r\nhi\r\n":                 "closed",
		"HPUB a -2 2\r\nhi\r\n":                    "closed",
		"HPUB a 2 x\r\nhi\r\n":                     "closed",
		"HPUB a 2 129\r\nNATS/1.0\r\n\r\nPING\r\n": "-ERR Maximum Payload Violation",

		"SUB a 1\r\n":                           `SUB "a" "" "1"; open`,
		"sub  a\tq  x  \n":                      `SUB "a" "q" "x"; open`,
		"SUB a\rq x\r\n":                        `SUB "a" "q" "x"; open`,
		"SUB\r\n":                               unknown,
		"SUB a\r\n":                             "closed",
		"SUB a b c d\r\n":                       "closed",
		"UNSUB 1\r\nUNSUB 1 5\r\nUNSUB 1 x\r\n": `UNSUB "1" 0; UNSUB "1" 5; UNSUB "1" -1; open`,
		"UNSUB\r\n":                             unknown,
		"UNSUB \r\n":                            "closed",
		"UNSUB 1 2 3\r\n":                       "closed",

		"SUB " + strings.Repeat("a", 62) + " 1\r\n": `SUB "` + strings.Repeat("a", 62) + `" "" "1"; open`,
		"SUB " + strings.Repeat("a", 63) + " 1\r\n": tooLong,
		"SUB " + strings.Repeat("a", 66):            tooLong,
		"PING" + strings.Repeat(" ", 99) + "\r\n":   tooLong,
	} {
		for _, cut := range [][]byte{nil, {0}, {1}, {2, 0, 6}} {
			if got := transcript(NewReader(&pieces{rest: input, cut: cut}, testLimits)); got != want {
				t.Errorf("%q in pieces of %v\n got %s\nwant %s", input, cut, got, want)
			}
		}
	}
}

func TestConnectFirst(t *testing.T) {
	for input, want := range map[string]string{
		"PING\r\n": "-ERR Authorization Violation", "P": "-ERR Authorization Violation", "": "open",
		"CONNECT {}\r\nPING\r\n": "CONNECT {}; -ERR Authorization Violation",
	} {
		r := NewReader(&pieces{rest: input}, testLimits)
		r.ConnectFirst = true
		if got := transcript(r); got != want {
			t.Errorf("%q: %s, want %s", input, got, want)
		}
	}
}

// A client that announces a large payload gets memory for what it sends, and a connection that is quiet again gives it
// back.
func TestBufferFollowsWhatComes(t *testing.T) {
	limits := Limits{Line: 4096, Payload: 1 << 20}
	r := NewReader(&pieces{rest: "PUB a 1048576\r\nx"}, limits)
	if got := transcript(r); got != "open" || len(r.buffer) > smallBuffer {
		t.Errorf("%s with a buffer of %d bytes", got, len(r.buffer))
	}
	big := "PUB a 1048576\r\n" + strings.Repeat("x", 1<<20) + "\r\n"
	r = NewReader(&pieces{rest: big, cut: []byte{255}}, limits)
	if _, err := r.Next(); err != nil || len(r.buffer) < 1<<20 || len(r.buffer) > 1<<20+largeBuffer {
		t.Errorf("%v, with a buffer of %d bytes", err, len(r.buffer))
	}
	r.from = &pieces{rest: strings.Repeat("PING\r\n", 100), cut: []byte{5}}
	for range 100 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.buffer) != smallBuffer {
		t.Errorf("the buffer is still of %d bytes", len(r.buffer))
	}
}

func TestReadingMessagesAllocatesNothing(t *testing.T) {
	stream := &pieces{}
	r := NewReader(stream, testLimits)
	const one = "HPUB some.subject some.reply 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
	if n := testing.AllocsPerRun(100, func() {
		stream.rest = one
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
}

func TestNoProgress(t *testing.T) {
	if _, err := NewReader(stuck{}, testLimits).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(AppendInfo(nil, []byte(`{"a":1}`))), "INFO {\"a\":1}\r\n"},
		{string(AppendErr(nil, "Stale Connection")), "-ERR 'Stale Connection'\r\n"},
		{string(AppendMsg(nil, []byte("a.b"), []byte("7"), nil, 0, 3)), "MSG a.b 7 3\r\n"},
		{string(AppendMsg(nil, []byte("a.b"), []byte("7"), []byte("r"), 0, 0)), "MSG a.b 7 r 0\r\n"},
		{string(AppendMsg(nil, []byte("a.b"), []byte("7"), []byte("r"), 12, 3)), "HMSG a.b 7 r 12 15\r\n"},
		{string(AppendMsg(nil, []byte("a.b"), []byte("7"), nil, 12, 0)), "HMSG a.b 7 12 12\r\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Whatever comes: no panic; the same commands and the same end however the stream is cut; memory within the limits.
func FuzzReader(f *testing.F) {
	f.Add("CONNECT {}\r\nPUB a 2\r\nhi\r\nHPUB a b 2 3\r\nhix\r\nSUB a q 1\r\nUNSUB 1 2\r\nPING\r\nPONG\r\n+OK\r\n", []byte{0})
	f.Add("PUB a 10\r\nPING\r\nPING\r\n-ERR 'x'\r\n", []byte{3, 1})
	f.Fuzz(func(t *testing.T, stream string, cut []byte) {
		whole := transcript(NewReader(&pieces{rest: stream}, testLimits))
		r := NewReader(&pieces{rest: stream, cut: cut}, testLimits)
		if cutUp := transcript(r); cutUp != whole {
			t.Errorf("in pieces of %v\n%s\nbut whole\n%s", cut, cutUp, whole)
		}
		if len(r.buffer) > largeBuffer {
			t.Errorf("a buffer of %d bytes", len(r.buffer))
		}
	})
}
