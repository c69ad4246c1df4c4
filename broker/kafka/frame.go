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

	keyConsumerGroupHeartbeat = 68

	// preludeSize is what is read before any memory is taken for a frame: its size, key and version.
	preludeSize = 8
	// minFrame is the shortest request: key, version, correlation id and a null client id.
	minFrame = 10
	// maxDecoded bounds what is decoded of a request: all but the records of Produce. Decoding takes up to some forty
	// times as much memory.
	maxDecoded  = 4 << 20
	maxClientID = 1 << 10
	maxScratch  = 64 << 10
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
