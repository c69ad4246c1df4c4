package topic

import (
	"crypto/rand"
	"encoding/hex"
)

// ID is a topic's identity: a new one for each creation, kept over restarts. It is a random UUID, version 4, and
// therefore never zero.
type ID [16]byte

// newID makes a random id.
func newID() ID {
	for {
		var id ID
		rand.Read(id[:]) // never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		// Kafka's tools write ids in base64: none may begin with "-" there, a command line would take it for a flag.
		if id[0]>>2 != 62 {
			return id
		}
	}
}

// String is the id as the name of the topic's directory: a UUID in lower case.
func (id ID) String() string {
	s := hex.EncodeToString(id[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
