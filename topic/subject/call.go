package subject

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
)

// call is a function in a transform's destination, as it was written.
type call struct {
	name string // in lower case
	args []string
	ok   bool // it has the form NAME(ARGUMENTS)
}

// parseCall reads $N or {{NAME(ARGUMENTS)}}; false for a token that stands for itself.
func parseCall(token string) (call, bool) {
	if n, ok := strings.CutPrefix(token, "$"); ok {
		_, err := strconv.Atoi(n)
		return call{"wildcard", []string{n}, true}, err == nil
	}
	body, ok := strings.CutPrefix(token, "{{")
	if !ok || len(token) < 5 {
		return call{}, false
	}
	if body, ok = strings.CutSuffix(body, "}}"); !ok {
		return call{}, false
	}
	name, args, opened := strings.Cut(strings.TrimSpace(body), "(")
	args, closed := strings.CutSuffix(args, ")")
	c := call{name: strings.ToLower(strings.TrimSpace(name)), args: strings.Split(args, ","), ok: opened && closed}
	for i := range c.args {
		c.args[i] = strings.TrimLeft(c.args[i], " \t\r\n\f")
	}
	return c, true
}

// piece makes what the call stands for; wild are the places of the source's "*".
func (c call) piece(wild []int) (piece, error) {
	if !c.ok {
		return nil, errUnknownFunction
	}
	switch c.name {
	case "wildcard":
		return c.wildcard(wild)
	case "partition":
		return c.partition(wild)
	case "random":
		return c.random()
	case "split":
		return c.split(wild)
	}
	cut := cutter(c.name)
	if cut == nil {
		return nil, errUnknownFunction
	}
	if err := c.want(2); err != nil {
		return nil, err
	}
	at, err := place(c.args[0], wild)
	if err != nil {
		return nil, err
	}
	size, err := number(c.args[1])
	if err != nil {
		return nil, err
	}
	return func(dst []byte, tokens []string) []byte {
		token := tokens[at]
		if size <= 0 || size >= len(token) {
			return append(dst, token...)
		}
		return cut(dst, token, size)
	}, nil
}

// want checks the number of arguments.
func (c call) want(n int) error {
	if len(c.args) < n || n == 1 && c.args[0] == "" {
		return errNotEnoughArguments
	}
	if len(c.args) > n {
		return errTooManyArguments
	}
	return nil
}

// number reads an argument that is a number of 32 bits.
func number(arg string) (int, error) {
	n, err := strconv.ParseInt(strings.Trim(arg, " "), 10, 32)
	if err != nil {
		return 0, errInvalidArgument
	}
	return int(n), nil
}

// indexError is the number of a "*" that the source does not have.
type indexError int

func (e indexError) Error() string { return errIndexOutOfRange.Error() }

// place reads an argument that names a "*" of the source, counted from 1, and returns where it stands. 0 is the subject's
// first token, as nats-server has it.
func place(arg string, wild []int) (int, error) {
	n, err := strconv.Atoi(strings.Trim(arg, " "))
	switch {
	case err != nil:
		return 0, errInvalidArgument
	case n < 0, n > len(wild), len(wild) == 0:
		return 0, indexError(n)
	case n == 0:
		return 0, nil
	}
	return wild[n-1], nil
}

func (c call) wildcard(wild []int) (piece, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	at, err := place(c.args[0], wild)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, tokens []string) []byte { return append(dst, tokens[at]...) }, nil
}

func (c call) partition(wild []int) (piece, error) {
	buckets, err := number(c.args[0])
	if err != nil || buckets < 0 {
		return nil, errInvalidArgument
	}
	args := c.args[1:]
	if len(wild) == 0 {
		args = nil // nats-server has the whole subject hashed then
	}
	var at []int
	for _, arg := range args {
		i, err := place(arg, wild)
		if err != nil {
			return nil, err
		}
		at = append(at, i)
	}
	return func(dst []byte, tokens []string) []byte {
		if buckets == 0 {
			return append(dst, '0')
		}
		h := fnv.New32a()
		for _, i := range at {
			h.Write([]byte(tokens[i]))
		}
		if len(at) == 0 {
			h.Write([]byte(strings.Join(tokens, ".")))
		}
		return strconv.AppendUint(dst, uint64(h.Sum32()%uint32(buckets)), 10)
	}, nil
}

func (c call) random() (piece, error) {
	if len(c.args) != 1 {
		return nil, errNotEnoughArguments
	}
	buckets, err := number(c.args[0])
	if err != nil || buckets < 0 {
		return nil, errInvalidArgument
	}
	return func(dst []byte, _ []string) []byte {
		if buckets == 0 {
			return append(dst, '0')
		}
		return strconv.AppendInt(dst, int64(rand.IntN(buckets)), 10)
	}, nil
}

func (c call) split(wild []int) (piece, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	at, err := place(c.args[0], wild)
	if err != nil {
		return nil, err
	}
	separator := c.args[1]
	if strings.Contains(separator, " ") {
		return nil, errInvalidArgument
	}
	return func(dst []byte, tokens []string) []byte {
		begin := len(dst)
		for part := range strings.SplitSeq(tokens[at], separator) {
			if part == "" {
				continue
			}
			if len(dst) > begin {
				dst = append(dst, '.')
			}
			dst = append(dst, part...)
		}
		return dst
	}, nil
}

// cutter is a function that cuts a token which is longer than size.
func cutter(name string) func(dst []byte, token string, size int) []byte {
	switch name {
	case "left":
		return func(dst []byte, token string, size int) []byte { return append(dst, token[:size]...) }
	case "right":
		return func(dst []byte, token string, size int) []byte { return append(dst, token[len(token)-size:]...) }
	case "splitfromleft":
		return func(dst []byte, token string, size int) []byte { return pair(dst, token, size) }
	case "splitfromright":
		return func(dst []byte, token string, size int) []byte { return pair(dst, token, len(token)-size) }
	case "slicefromleft":
		return func(dst []byte, token string, size int) []byte { return chop(dst, token, size, size) }
	case "slicefromright":
		return func(dst []byte, token string, size int) []byte {
			first := len(token) % size
			if first == 0 {
				first = size
			}
			return chop(dst, token, first, size)
		}
	}
	return nil
}

// pair appends a token in two.
func pair(dst []byte, token string, at int) []byte {
	dst = append(dst, token[:at]...)
	dst = append(dst, '.')
	return append(dst, token[at:]...)
}

// chop appends a token in pieces: one of first bytes, and then of size.
func chop(dst []byte, token string, first, size int) []byte {
	for begin, end := 0, first; begin < len(token); begin, end = end, end+size {
		dst = append(dst, token[begin:min(end, len(token))]...)
		dst = append(dst, '.')
	}
	return bytes.TrimSuffix(dst, []byte("."))
}
