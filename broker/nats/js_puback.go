package nats

import (
	"encoding/json"
	"strconv"

	"brokerd/topic/stream"
)

// appendAck appends what a publisher hears (a PubAck): where its message is, or why it is nowhere. It is empty for a
// message of a batch that is not committed yet. name is the stream's, in which nothing has to be escaped but what JSON
// wants escaped.
func appendAck(b []byte, name, domain string, r stream.Receipt, err error) []byte {
	if err == nil && r.Pending {
		return b
	}
	if err != nil {
		return appendRefusal(b, name, domain, err)
	}
	b = append(b, `{"stream":`...)
	b = appendString(b, name)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, r.Sequence, 10)
	b = appendDomain(b, domain)
	if r.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	if r.Value != "" {
		b = append(b, `,"val":`...)
		b = appendString(b, r.Value)
	}
	if r.Batch != "" {
		b = append(b, `,"batch":`...)
		b = appendString(b, r.Batch)
		b = append(b, `,"count":`...)
		b = strconv.AppendInt(b, int64(r.Count), 10)
	}
	return append(b, '}')
}

func appendDomain(b []byte, domain string) []byte {
	if domain == "" {
		return b
	}
	b = append(b, `,"domain":`...)
	return appendString(b, domain)
}

func appendRefusal(b []byte, name, domain string, err error) []byte {
	e := apiError(err)
	b = append(b, `{"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"err_code":`...)
	b = strconv.AppendUint(b, uint64(e.ErrCode), 10)
	b = append(b, `,"description":`...)
	b = appendString(b, e.Description)
	b = append(b, `},"stream":`...)
	b = appendString(b, name)
	b = append(b, `,"seq":0`...)
	return append(appendDomain(b, domain), '}')
}

// appendString appends a JSON string; plain ones, which nearly all are, as they stand.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string can always be encoded
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
