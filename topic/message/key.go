package message

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"brokerd/topic/subject"
)

// keyless is the subject of records whose key is none, in a stream with subjects of its own.
const keyless = "$KAFKA"

// maxSubject is the longest subject that a key is shown as, in bytes: some clients take no line of more than 4096, and the
// subject for the acknowledgement stands on the same one.
const maxSubject = 2048

// ForTopic is the naming of a topic that was made through Kafka. A name that is no subject, for it has empty tokens,
// stands for itself with "_" for each ".".
func ForTopic(name string) Naming {
	if !subject.Literal(name) {
		name = strings.ReplaceAll(name, ".", "_")
	}
	return Naming{Prefix: name}
}

// root is the subject of records without a key, and of those whose key travels in a header.
func (n Naming) root() string {
	if n.Prefix == "" {
		return keyless
	}
	return n.Prefix
}

// subject gives the subject for a key, and whether it says what the key is: if not, the key travels in a header.
func (n Naming) subject(key []byte) (s string, whole bool) {
	switch {
	case key == nil:
		return n.root(), true
	case len(n.Prefix)+1+len(key) > maxSubject:
		return n.root(), false
	}
	rest := ""
	if n.Prefix == "" {
		s = string(key)
		rest = s
	} else {
		s = n.Prefix + "." + string(key)
		rest = s[len(n.Prefix)+1:]
	}
	if s == n.root() || !printable(rest) || !subject.Literal(rest) {
		return n.root(), false
	}
	return s, true
}

// key gives the key for a subject, and whether subject gives s for it and no other key. A subject that is not below the
// prefix is a key as a whole.
func (n Naming) key(s string) (key []byte, exact bool) {
	if s == n.root() {
		return nil, true
	}
	rest, below := s, n.Prefix == ""
	if !below {
		rest, below = strings.CutPrefix(s, n.Prefix+".")
	}
	exact = below && len(n.Prefix)+1+len(rest) <= maxSubject && printable(rest) && subject.Literal(rest)
	return []byte(rest), exact
}

// printable says that s is UTF-8 without control characters: what every client shows and JSON holds.
func printable[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			rest := string(s[i:])
			return utf8.ValidString(rest) && strings.IndexFunc(rest, unicode.IsControl) < 0
		}
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
