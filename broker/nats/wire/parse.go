package wire

import "bytes"

// Verb is what a client wants.
type Verb uint8

// The verbs. What a client may say and nobody has to react to, INFO and +OK, is Nothing.
const (
	Nothing Verb = iota
	Connect
	Publish
	Subscribe
	Unsubscribe
	Ping
	Pong
)

// Command is one command of a client. Its memory is the reader's, valid until the next command is read.
type Command struct {
	Verb    Verb
	Options []byte // Connect: JSON

	Subject []byte // Publish, Subscribe
	Reply   []byte // Publish; nil for none
	Header  []byte // Publish: the header block; nil for none
	Data    []byte // Publish
	HPub    bool   // Publish: it came as HPUB

	Queue []byte // Subscribe; nil for none
	SID   []byte // Subscribe, Unsubscribe
	Max   int    // Unsubscribe: messages since the subscription; 0 or less for none
}

// spelling is how a verb is written, in capital letters.
type spelling struct {
	text  string
	blank bool // a space or a tab has to follow
	op    operation
}

// operation is a verb as it is spelled: PUB and HPUB are two of them.
type operation uint8

const (
	opConnect operation = iota
	opPub
	opHPub
	opSub
	opUnsub
	opPing
	opPong
	opInfo
	opOK
	opErr
)

// spellings are in the order of how often they come.
var spellings = [...]spelling{
	{"PUB", true, opPub}, {"HPUB", true, opHPub}, {"SUB", true, opSub}, {"UNSUB", true, opUnsub}, {"PING", false, opPing},
	{"PONG", false, opPong}, {"CONNECT", false, opConnect}, {"INFO", true, opInfo}, {"+OK", false, opOK}, {"-ERR", true, opErr},
}

// recognize finds the spelling that line, or what of it has come, begins with: nil and true when more bytes are needed to
// know, nil and false when there is none.
func recognize(line []byte) (*spelling, bool) {
	for i := range spellings {
		s := &spellings[i]
		n := min(len(s.text), len(line))
		if !begins(line[:n], s.text) {
			continue
		}
		switch {
		case len(line) < len(s.text), s.blank && len(line) == len(s.text):
			return nil, true
		case s.blank && !isBlank(line[len(s.text)]):
			return nil, false
		}
		return s, true
	}
	return nil, false
}

// begins says that text begins with b, whose letters may be small ones.
func begins(b []byte, text string) bool {
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != text[i] {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// sizes are the lengths that a line of a publication announces.
type sizes struct{ header, total int }

// parse reads the arguments of a line. The payload of a publication, n bytes in all, follows the line.
func (s *spelling) parse(args []byte) (c Command, n sizes, err error) {
	switch s.op {
	case opConnect:
		return Command{Verb: Connect, Options: bytes.TrimLeft(args, " \t")}, n, nil
	case opPub:
		return parsePub(args)
	case opHPub:
		return parseHPub(args)
	case opSub:
		c, err = parseSub(args)
	case opUnsub:
		c, err = parseUnsub(args)
	case opPing:
		c.Verb = Ping
	case opPong:
		c.Verb = Pong
	case opErr:
		err = ErrClientFailed
	}
	return c, n, err
}

func parsePub(args []byte) (c Command, n sizes, err error) {
	var f [4][]byte
	c.Verb = Publish
	switch split(args, &f, false) {
	case 2:
		c.Subject, n.total = f[0], number(f[1])
	case 3:
		c.Subject, c.Reply, n.total = f[0], f[1], number(f[2])
	default:
		return c, n, ErrArguments
	}
	if n.total < 0 {
		return c, n, ErrArguments
	}
	return c, n, nil
}

func parseHPub(args []byte) (c Command, n sizes, err error) {
	var f [5][]byte
	c.Verb, c.HPub = Publish, true
	switch split(args, &f, false) {
	case 3:
		c.Subject, n = f[0], sizes{number(f[1]), number(f[2])}
	case 4:
		c.Subject, c.Reply, n = f[0], f[1], sizes{number(f[2]), number(f[3])}
	default:
		return c, n, ErrArguments
	}
	if n.header < 0 || n.total < n.header {
		return c, n, ErrArguments
	}
	return c, n, nil
}

func parseSub(args []byte) (Command, error) {
	var f [4][]byte
	switch split(args, &f, true) {
	case 2:
		return Command{Verb: Subscribe, Subject: f[0], SID: f[1]}, nil
	case 3:
		return Command{Verb: Subscribe, Subject: f[0], Queue: f[1], SID: f[2]}, nil
	}
	return Command{}, ErrArguments
}

func parseUnsub(args []byte) (Command, error) {
	var f [3][]byte
	switch split(args, &f, true) {
	case 1:
		return Command{Verb: Unsubscribe, SID: f[0]}, nil
	case 2:
		return Command{Verb: Unsubscribe, SID: f[0], Max: number(f[1])}, nil
	}
	return Command{}, ErrArguments
}

// fieldSet is room for one field more than a line may have.
type fieldSet interface {
	[3][]byte | [4][]byte | [5][]byte
}

// split finds the fields between blanks, and returns their number: no more than there is room for. cr says that a carriage
// return separates too; in a publication it is part of a subject, as it is for nats-server.
func split[F fieldSet](args []byte, into *F, cr bool) int {
	n, start := 0, -1
	for i := 0; i <= len(args); i++ {
		switch {
		case i < len(args) && !isBlank(args[i]) && !(cr && args[i] == '\r'):
			if start < 0 {
				start = i
			}
		case start >= 0:
			(*into)[n] = args[start:i:i]
			start = -1
			if n++; n == len(*into) {
				return n
			}
		}
	}
	return n
}

// maxDigits keeps numbers within 32 bits.
const maxDigits = 9

// number reads a decimal number; -1 when b is none, or has more than maxDigits.
func number(b []byte) int {
	if len(b) == 0 || len(b) > maxDigits {
		return -1
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
