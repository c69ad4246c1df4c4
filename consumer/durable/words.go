package durable

import (
	"bytes"
	"fmt"
)

// The words of a configuration are checked when it is read, so that a wrong one is a mistake in the JSON, as it is for
// nats-server. No word at all means the first one.

// UnmarshalJSON reads the word, and refuses one that does not exist.
func (p *DeliverPolicy) UnmarshalJSON(b []byte) error {
	return word(p, b, DeliverAll, DeliverLast, DeliverNew, DeliverByStartSeq, DeliverByStartTime, DeliverLastPerSubject)
}

// UnmarshalJSON reads the word, and refuses one that does not exist.
func (p *AckPolicy) UnmarshalJSON(b []byte) error { return word(p, b, AckNone, AckAll, AckExplicit) }

// UnmarshalJSON reads the word, and refuses one that does not exist.
func (p *ReplayPolicy) UnmarshalJSON(b []byte) error {
	return word(p, b, ReplayInstant, ReplayOriginal)
}

// UnmarshalJSON reads the word, and refuses one that does not exist.
func (p *PriorityPolicy) UnmarshalJSON(b []byte) error {
	if string(b) == `"none"` {
		*p = PriorityNone
		return nil
	}
	return word(p, b, PriorityNone, PriorityOverflow, PriorityPinned, PriorityPrioritized)
}

func word[T ~string](to *T, b []byte, known ...T) error {
	b = bytes.TrimSpace(b)
	if string(b) == `""` || string(b) == "null" {
		*to = known[0]
		return nil
	}
	for _, k := range known {
		if string(b) == `"`+string(k)+`"` {
			*to = k
			return nil
		}
	}
	return fmt.Errorf("can not unmarshal %q", b)
}
