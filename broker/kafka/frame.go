package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	keyProduce     = 0
	keyApiVersions = 18

	// preludeSize is what is read before any memory is taken for a frame: its size, key and version.
	preludeSize = 8
	// minFrame is the shortest request: key, version, correlation id and a null client id.
	minFrame = 10
	// maxSmallFrame bounds every request but Produce, whose payload is not decoded. A decoded request takes up to some
	// thirty times the bytes of its frame.
	maxSmallFrame = 4 << 20
	maxClientID   = 1 << 10
	maxScratch    = 64 << 10
)

// errRefused wraps the reason for closing a connection because of what came from the client.
var errRefused = errors.New("kafka: connection refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(format, args...))
}

// prelude is the fixed start of a request frame.
type prelude struct {
	size         int32 // of the frame after the size field
	key, version int16
}

// checkSize refuses a frame by its size field, saying what the bytes look like instead. head holds the first bytes of
// the frame, its size included.
func checkSize(head []byte, max int32) error {
	size := int32(binary.BigEndian.Uint32(head))
	if size >= minFrame && size <= max {
		return nil
	}
	return refuse("a frame of %d bytes (%d to %d are allowed)%s", size, minFrame, max, looksLike(head))
}

// looksLike names the protocol whose first bytes are b, or returns "".
func looksLike(b []byte) string {
	methods := []string{"GET ", "POST", "PUT ", "HEAD", "OPTI", "DELE", "PATC", "CONN", "PRI "}
	for _, m := range methods {
		if bytes.HasPrefix(b, []byte(m)) {
			return ": it looks like HTTP"
		}
	}
	if len(b) >= 2 && b[0] == 0x16 && b[1] == 0x03 {
		return ": it looks like TLS, which is not enabled on this port"
	}
	if bytes.HasPrefix(b, []byte("SSH-")) {
		return ": it looks like SSH"
	}
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\r' && c != '\n' && c != '\t' {
			return ""
		}
	}
	return fmt.Sprintf(": it looks like text (%q)", b)
}

// decodeHeader reads what follows key and version: correlation id, client id and, in flexible versions, tags (request
// header v1 and v2; the client id is never compact). It returns the rest of b, the request's body.
func (r *request) decodeHeader(b []byte) ([]byte, error) {
	if len(b) < 6 {
		return nil, refuse("a %s header of %d bytes", r.api.name, len(b))
	}
	r.correlation = int32(binary.BigEndian.Uint32(b))
	n := int(int16(binary.BigEndian.Uint16(b[4:])))
	b = b[6:]
	if n > len(b) || n > maxClientID {
		return nil, refuse("a client id of %d bytes, %d are here", n, len(b))
	}
	if n > 0 {
		r.clientID = string(b[:n])
		b = b[n:]
	}
	if !r.body.IsFlexible() {
		return b, nil
	}
	return skipTags(b)
}

// skipTags returns what follows a section of tagged fields (KIP-482).
func skipTags(b []byte) ([]byte, error) {
	count, b, ok := uvarint(b)
	for ; ok && count > 0; count-- {
		var size uint64
		if _, b, ok = uvarint(b); !ok {
			break
		}
		if size, b, ok = uvarint(b); !ok || size > uint64(len(b)) {
			ok = false
			break
		}
		b = b[size:]
	}
	if !ok {
		return nil, refuse("malformed tags in a request header")
	}
	return b, nil
}

func uvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// appendHeader starts a response frame in b: room for the size, the correlation id and, for flexible versions, an empty
// tag section. ApiVersions never has one, so that any client can read it (KIP-511).
func (r *request) appendHeader(b []byte) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(r.correlation))
	if r.api.key != keyApiVersions && r.body.IsFlexible() {
		b = append(b, 0)
	}
	return b
}

// finishFrame writes the size of a frame that is complete.
func finishFrame(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
