package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Words of the configuration, as they stand in JSON.
type (
	Retention   string
	Discard     string
	Storage     string
	Compression string
	PersistMode string
)

const (
	Limits    Retention = "limits"
	Interest  Retention = "interest"
	WorkQueue Retention = "workqueue"

	DiscardOld Discard = "old"
	DiscardNew Discard = "new"

	File   Storage = "file"
	Memory Storage = "memory"

	Uncompressed Compression = "none"
	S2           Compression = "s2"

	PersistDefault PersistMode = "" // "default" in requests; answers leave it out
	PersistAsync   PersistMode = "async"
)

var errUnknownCompression = errors.New("unknown compression algorithm")

// UnmarshalJSON refuses other words than those above.
func (r *Retention) UnmarshalJSON(b []byte) error { return word(b, r, Limits, Interest, WorkQueue) }

// UnmarshalJSON refuses other words than those above; their case does not matter.
func (d *Discard) UnmarshalJSON(b []byte) error {
	if err := word([]byte(strings.ToLower(string(b))), d, DiscardOld, DiscardNew); err != nil {
		return unknownWord(b)
	}
	return nil
}

// UnmarshalJSON refuses other words than those above.
func (s *Storage) UnmarshalJSON(b []byte) error { return word(b, s, File, Memory) }

// UnmarshalJSON refuses other words than those above.
func (c *Compression) UnmarshalJSON(b []byte) error {
	if err := word(b, c, Uncompressed, S2); err != nil {
		return errUnknownCompression
	}
	return nil
}

// UnmarshalJSON refuses other words than those above and "default".
func (p *PersistMode) UnmarshalJSON(b []byte) error {
	if string(b) == `"default"` {
		b = []byte(`""`)
	}
	return word(b, p, PersistDefault, PersistAsync)
}

// word sets to to the one of known that b is in JSON.
func word[T ~string](b []byte, to *T, known ...T) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		for _, w := range known {
			if string(w) == s && string(b) != "null" {
				*to = w
				return nil
			}
		}
	}
	return unknownWord(b)
}

func unknownWord(b []byte) error { return fmt.Errorf("can not unmarshal %q", b) }
