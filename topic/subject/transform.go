package subject

import (
	"errors"
	"fmt"
	"strings"
)

// Transform gives the subjects that its source matches other names (ADR-36).
type Transform struct {
	source string
	open   int     // with a source that ends in ">": the number of tokens before it
	pieces []piece // one for each token of the destination but ">"; none leaves subjects as they are
	rest   bool    // the destination ends in ">"
}

// piece appends what a token of the destination stands for. tokens are those of the subject.
type piece func(dst []byte, tokens []string) []byte

// New makes a transform. An empty source is ">"; with an empty destination the transform changes nothing. Tokens of the
// destination may be $N or {{wildcard(N)}} for what the source's Nth "*" matched, or one of the functions
//
//	{{partition(BUCKETS,N,...)}}  the hash of these tokens, of the whole subject if none are given, modulo BUCKETS
//	{{split(N,SEPARATOR)}}        the token, cut at each separator
//	{{splitFromLeft(N,AT)}}       the token, cut in two AT bytes from its begin; splitFromRight, from its end
//	{{sliceFromLeft(N,SIZE)}}     the token in pieces of SIZE bytes, the last one may be shorter; sliceFromRight, the first
//	{{left(N,SIZE)}}              the first SIZE bytes of the token; right, the last
//	{{random(BUCKETS)}}           a number below BUCKETS
//
// Errors: ErrInvalid, ErrDestination.
func New(source, destination string) (*Transform, error) {
	if source == "" {
		source = ">"
	}
	t := &Transform{source: source}
	if !Valid(source) {
		return nil, fmt.Errorf("%w %s", ErrInvalid, source)
	}
	if destination == "" {
		return t, nil
	}
	var wild []int // the places of the source's "*"
	tokens := strings.Split(source, ".")
	for i, token := range tokens {
		if token == "*" {
			wild = append(wild, i)
		}
	}
	if tokens[len(tokens)-1] == ">" {
		t.open = len(tokens) - 1
	}
	destTokens := strings.Split(destination, ".")
	for i, token := range destTokens {
		if token == ">" && i == len(destTokens)-1 {
			t.rest = true
			break
		}
		if token == "" || token == ">" {
			return nil, in(token, errDestinationSubject)
		}
		p, err := parsePiece(token, wild)
		if err != nil {
			return nil, err
		}
		t.pieces = append(t.pieces, p)
	}
	if t.rest != (tokens[len(tokens)-1] == ">") {
		return nil, ErrInvalid
	}
	return t, nil
}

// in names the token of the destination that is wrong.
func in(token string, err error) error {
	if token == "" {
		return err
	}
	return fmt.Errorf("%w in %s", err, token)
}

// parsePiece reads a token of the destination; wild are the places of the source's "*".
func parsePiece(token string, wild []int) (piece, error) {
	c, ok := parseCall(token)
	switch {
	case ok:
		p, err := c.piece(wild)
		var index indexError
		if errors.As(err, &index) {
			return nil, fmt.Errorf("%w in %s: [%d]", errIndexOutOfRange, token, index)
		}
		if err != nil {
			return nil, in(token, err)
		}
		return p, nil
	case token == "*":
		return nil, ErrInvalid
	case strings.ContainsAny(token, " \t\r\n\f"):
		return nil, errDestinationSubject
	}
	return func(dst []byte, _ []string) []byte { return append(dst, token...) }, nil
}

// Apply gives the subject its new name. False when the source does not match, or when what would come out is no subject;
// then it is returned as it is.
func (t *Transform) Apply(s string) (string, bool) {
	if !Match(t.source, s) {
		return s, false
	}
	if len(t.pieces) == 0 && (!t.rest || t.open == 0) {
		return s, true
	}
	tokens := strings.Split(s, ".")
	var dst []byte
	for i, p := range t.pieces {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = p(dst, tokens)
	}
	if t.rest {
		for i, token := range tokens[t.open:] {
			if i > 0 || len(t.pieces) > 0 {
				dst = append(dst, '.')
			}
			dst = append(dst, token...)
		}
	}
	if out := string(dst); Literal(out) {
		return out, true
	}
	return s, false
}

// Filter is what the source matches.
func (t *Transform) Filter() string { return t.source }
